import { Button, Group, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { KeyRound } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../api/session.js';
import { Panel } from '../../components/panel.js';
import { PasswordDialog } from './password-dialog.js';

const LATER = 'console-password-later';

/** Signed in by a link and without a password: asked for one, and left alone for this session if that is not the time. */
export function PasswordNotice() {
  const { t } = useTranslation();
  const { hasPassword } = useMe().user;
  const [opened, { open, close }] = useDisclosure();
  const [isLater, setLater] = useState(() => sessionStorage.getItem(LATER) !== null);
  if (hasPassword || isLater) return null;
  const postpone = () => {
    sessionStorage.setItem(LATER, '1');
    setLater(true);
  };
  return (
    <Panel p="sm" mb="lg" maw={1160} mx="auto">
      <Group justify="space-between" gap="sm">
        <Group gap="sm" wrap="nowrap">
          <KeyRound size={18} aria-hidden style={{ flex: 'none' }} />
          <Text size="sm">{t('password.notice')}</Text>
        </Group>
        <Group gap="xs">
          <Button size="compact-sm" variant="subtle" c="var(--mantine-color-text)" onClick={postpone}>
            {t('password.later')}
          </Button>
          <Button size="compact-sm" variant="default" onClick={open}>
            {t('password.set')}
          </Button>
        </Group>
      </Group>
      <PasswordDialog opened={opened} onClose={close} />
    </Panel>
  );
}
