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
  Webhook,
} from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../api/session.js';

export interface ShellPage {
  to:
    | '/overview'
    | '/devices'
    | '/messages'
    | '/opt-outs'
    | `/settings/${'api' | 'webhooks' | 'users' | 'audit' | 'sessions'}`;
  icon: LucideIcon;
  label: string;
  isSetting: boolean;
}

/** Where the user of this page can go. One that is new here has its route in `router.tsx`. */
export function usePages(): ShellPage[] {
  const { t } = useTranslation();
  const { role } = useMe().user;
  const webhooks: ShellPage = { to: '/settings/webhooks', icon: Webhook, label: t('webhooks.title'), isSetting: true };
  const forAdmins: ShellPage[] = [
    { to: '/settings/api', icon: KeyRound, label: t('tokens.nav'), isSetting: true },
    webhooks,
    { to: '/settings/users', icon: Users, label: t('users.title'), isSetting: true },
    { to: '/settings/audit', icon: ScrollText, label: t('audit.title'), isSetting: true },
  ];
  return [
    { to: '/overview', icon: Gauge, label: t('overview.title'), isSetting: false },
    { to: '/devices', icon: Smartphone, label: t('devices.title'), isSetting: false },
    { to: '/messages', icon: MessagesSquare, label: t('messages.title'), isSetting: false },
    { to: '/opt-outs', icon: BellOff, label: t('optOuts.title'), isSetting: false },
    ...(role === 'admin' ? forAdmins : [webhooks]),
    { to: '/settings/sessions', icon: MonitorSmartphone, label: t('sessions.title'), isSetting: true },
  ];
}
