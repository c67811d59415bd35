import { Menu, useMantineColorScheme } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { Check, CircleUserRound, KeyRound, LogOut, MonitorSmartphone, Moon, Sun, SunMoon } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { signOut, useMe } from '../../api/session.js';
import { ActionMenu } from '../../components/action-menu.js';
import { chooseLanguage, currentLanguage, LANGUAGES, type Language } from '../language.js';
import { PasswordDialog } from './password-dialog.js';

const SCHEMES = { light: Sun, dark: Moon, auto: SunMoon } as const;
type Scheme = keyof typeof SCHEMES;

/** Who one is, how the page looks and speaks, and the way out. */
export function UserMenu() {
  const { t } = useTranslation();
  const { user } = useMe();
  const navigate = useNavigate();
  const [asksPassword, askPassword] = useState(false);
  const leave = async (everywhere: boolean) => {
    await signOut({ everywhere });
    await navigate({ to: '/sign-in' });
  };
  return (
    <>
      <ActionMenu
        label={t('menu.open', { name: user.name })}
        icon={<CircleUserRound size={20} />}
        button={{ variant: 'subtle', color: 'gray', size: 'lg' }}
        width={240}
      >
        <Menu.Label>
          <bdi>{user.name}</bdi> · {t(`roles.${user.role}`)}
        </Menu.Label>
        <Menu.Item leftSection={<KeyRound size={16} />} onClick={() => askPassword(true)}>
          {user.hasPassword ? t('password.change') : t('password.set')}
        </Menu.Item>
        <Menu.Divider />
        <Menu.Label>{t('menu.theme')}</Menu.Label>
        <SchemeItems />
        <Menu.Divider />
        <Menu.Label>{t('menu.language')}</Menu.Label>
        <LanguageItems />
        <Menu.Divider />
        <Menu.Item leftSection={<LogOut size={16} className="turns" />} onClick={() => void leave(false)}>
          {t('menu.signOut')}
        </Menu.Item>
        <Menu.Item leftSection={<MonitorSmartphone size={16} />} onClick={() => void leave(true)}>
          {t('menu.signOutEverywhere')}
        </Menu.Item>
      </ActionMenu>
      <PasswordDialog opened={asksPassword} onClose={() => askPassword(false)} />
    </>
  );
}

function SchemeItems() {
  const { t } = useTranslation();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (Object.entries(SCHEMES) as [Scheme, typeof Sun][]).map(([scheme, Icon]) => (
    <Menu.Item
      key={scheme}
      leftSection={<Icon size={16} />}
      rightSection={colorScheme === scheme && <Check size={16} aria-label={t('menu.chosen')} />}
      onClick={() => setColorScheme(scheme)}
    >
      {t(`menu.schemes.${scheme}`)}
    </Menu.Item>
  ));
}

function LanguageItems() {
  const { t } = useTranslation();
  return (Object.keys(LANGUAGES) as Language[]).map((language) => (
    <Menu.Item
      key={language}
      lang={language}
      rightSection={currentLanguage() === language && <Check size={16} aria-label={t('menu.chosen')} />}
      onClick={() => void chooseLanguage(language)}
    >
      {LANGUAGES[language].name}
    </Menu.Item>
  ));
}
