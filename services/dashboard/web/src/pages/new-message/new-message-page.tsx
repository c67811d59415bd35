import { Anchor, Button, Group, Stack } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { ChevronLeft, Smartphone } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useDevices } from '../../api/devices.js';
import { useMe } from '../../api/session.js';
import { Page } from '../../components/page.js';
import { Failure } from '../../components/states/failure.js';
import { Listed } from '../../components/states/listed.js';
import { MessageForm } from './message-form.js';
import { useFormerMessage } from './use-former-message.js';

const route = getRouteApi('/inside/messages/new');

/** Writes a message to one person or to a list, which is checked before it is sent. */
export function NewMessagePage() {
  const { t } = useTranslation();
  const { again, device } = route.useSearch();
  const { role } = useMe().user;
  const devices = useDevices();
  const former = useFormerMessage(again);
  if (role === 'viewer') return <Page title={t('compose.title')}>{t('errors.not_allowed')}</Page>;
  return (
    <Stack>
      <Anchor component={Link} to="/messages" size="sm" maw={1160} mx="auto" w="100%">
        <Group gap={4} component="span">
          <ChevronLeft size={16} className="turns" aria-hidden /> {t('messages.title')}
        </Group>
      </Anchor>
      <Page title={t('compose.title')} about={again === undefined ? t('compose.about') : t('compose.aboutAgain')}>
        {former.error && <Failure error={former.error} />}
        <Listed
          query={devices}
          empty={{
            icon: <Smartphone size={36} strokeWidth={1.4} />,
            title: t('devices.empty.title'),
            about: t('devices.empty.about'),
            action: (
              <Button component={Link} to="/devices/default">
                {t('link.title')}
              </Button>
            ),
          }}
        >
          {(all) => <MessageForm devices={all} wished={device} former={former.data} />}
        </Listed>
      </Page>
    </Stack>
  );
}
