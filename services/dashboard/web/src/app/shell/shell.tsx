import { AppShell, Burger, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { meQuery } from '../../api/session.js';
import { FindButton } from '../find/find-button.js';
import { LivePill } from './live-pill.js';
import { Navigation } from './navigation.js';
import { OfflineNotice } from './offline-notice.js';
import { PasswordNotice } from './password-notice.js';
import classes from './shell.module.css';
import { SimulatorNotice } from './simulator-notice.js';
import { useFocusOnHeading } from './use-focus-on-heading.js';
import { UserMenu } from './user-menu.js';

/** What is around every page: where one is, whether it is live, who one is. */
export function Shell() {
  const { t } = useTranslation();
  const [isOpen, { toggle, close }] = useDisclosure();
  const { pathname } = useLocation();
  useLeaveWhenSignedOut();
  useFocusOnHeading();
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new page closes the menu that led to it.
  useEffect(close, [pathname]);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 224, breakpoint: 'md', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', sm: 'xl' }}
      classNames={{ header: classes.bar, navbar: `${classes.bar} ${classes.menu}`, main: classes.main }}
    >
      <a className={`skip ${classes.skip}`} href="#page">
        {t('shell.skip')}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap" gap="xs">
          <Group gap="xs" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="md"
              size="sm"
              aria-label={t('shell.menu')}
              aria-expanded={isOpen}
            />
            <img src={ICON} alt="" width={24} height={24} />
            <Text fw={640} visibleFrom="xs">
              {t('product')}
            </Text>
          </Group>
          <Group gap="sm" wrap="nowrap">
            <FindButton />
            <LivePill />
            <UserMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="sm" mod={{ closed: !isOpen }} aria-label={t('shell.navigation')}>
        <Navigation />
      </AppShell.Navbar>
      <AppShell.Main id="page" tabIndex={-1}>
        <OfflineNotice />
        <SimulatorNotice />
        <PasswordNotice />
        <Outlet />
      </AppShell.Main>
    </AppShell>
  );
}

const ICON = new URL('../icon.svg', import.meta.url).href;

/** The session may end elsewhere: by time, or by another tab. */
function useLeaveWhenSignedOut(): void {
  const { data } = useQuery(meQuery);
  const navigate = useNavigate();
  const { pathname, href } = useLocation();
  useEffect(() => {
    // On the way there this still is on the screen: what leads back is where one was.
    if (data === null && pathname !== '/sign-in') void navigate({ to: '/sign-in', search: { next: href } });
  }, [data, navigate, pathname, href]);
}
