import { NavLink, Text } from '@mantine/core';
import { Link, useLocation } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import classes from './navigation.module.css';
import { type ShellPage, usePages } from './pages.js';

/** Where one can go. */
export function Navigation() {
  const { t } = useTranslation();
  const pages = usePages();
  return (
    <>
      {pages.filter(({ isSetting }) => !isSetting).map(toEntry)}
      <Text className={classes.section} size="xs" c="dimmed">
        {t('shell.settings')}
      </Text>
      {pages.filter(({ isSetting }) => isSetting).map(toEntry)}
    </>
  );
}

const toEntry = (page: ShellPage) => <Entry key={page.to} page={page} />;

function Entry({ page: { to, icon: Icon, label } }: { page: ShellPage }) {
  const isHere = useLocation().pathname.startsWith(to);
  return (
    <NavLink
      component={Link}
      to={to}
      active={isHere}
      aria-current={isHere ? 'page' : undefined}
      label={label}
      leftSection={<Icon size={17} strokeWidth={1.8} aria-hidden />}
      className={classes.entry}
    />
  );
}
