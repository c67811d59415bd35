import { Box, Group, Text } from '@mantine/core';
import { FlaskConical } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../api/session.js';
import classes from './simulator-notice.module.css';

/** So that no one takes a stand-in for the real network, nor the other way round. */
export function SimulatorNotice() {
  const { t } = useTranslation();
  if (!useMe().isSimulated) return null;
  return (
    <Box className={classes.notice} role="note">
      <Group gap="xs" wrap="nowrap">
        <FlaskConical size={16} aria-hidden style={{ flex: 'none' }} />
        <Text size="sm">{t('simulator.notice')}</Text>
      </Group>
    </Box>
  );
}
