import { NavLink, Text } from '@mantine/core';
import { Link, useLocation } from '@tanstack/react-router';
import {
  BellOff,
  Gauge,
  KeyRound,
  type LucideIcon,
  MessagesSquare,
  MonitorSmartphone,
  ScrollText,
  Smartphone,
  Users,
} from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../api/session.js';
import classes from './navigation.module.css';

/** Where one can go. A page that is new here has its route in `router.tsx`. */
export function Navigation() {
  const { t } = useTranslation();
  const { role } = useMe().user;
  return (
    <nav aria-label={t('shell.navigation')}>
      <Entry to="/overview" icon={Gauge} label={t('overview.title')} />
      <Entry to="/devices" icon={Smartphone} label={t('devices.title')} />
      <Entry to="/messages" icon={MessagesSquare} label={t('messages.title')} />
      <Entry to="/opt-outs" icon={BellOff} label={t('optOuts.title')} />
      <Text className={classes.section} size="xs" c="dimmed">
        {t('shell.settings')}
      </Text>
      {role === 'admin' && (
        <>
          <Entry to="/settings/api" icon={KeyRound} label={t('tokens.nav')} />
          <Entry to="/settings/users" icon={Users} label={t('users.title')} />
          <Entry to="/settings/audit" icon={ScrollText} label={t('audit.title')} />
        </>
      )}
      <Entry to="/settings/sessions" icon={MonitorSmartphone} label={t('sessions.title')} />
    </nav>
  );
}

interface EntryProps {
  to: '/overview' | '/devices' | '/messages' | '/opt-outs' | `/settings/${'api' | 'users' | 'audit' | 'sessions'}`;
  icon: LucideIcon;
  label: string;
}

function Entry({ to, icon: Icon, label }: EntryProps) {
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
