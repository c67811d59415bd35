import { Alert, Button, List, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { CheckedList } from './check-list.js';

const SHOWN = 10;

/** The lines that are no numbers, beside the field that they stand in: while there are any, nothing can be sent. */
export function BadLines({ bad, onDrop }: { bad: CheckedList['bad']; onDrop: () => void }) {
  const { t } = useTranslation();
  if (bad.length === 0) return null;
  return (
    <Alert color="red" variant="outline" c="var(--mantine-color-text)" role="status">
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{t('compose.bad', { count: bad.length })}</Text>
        <List size="sm">
          {bad.slice(0, SHOWN).map(({ line, text }) => (
            <List.Item key={line} style={{ overflowWrap: 'anywhere' }}>
              {t('compose.line', { line })} <bdi className="mono">{text}</bdi>
            </List.Item>
          ))}
        </List>
        <Button size="compact-sm" variant="default" onClick={onDrop}>
          {t('compose.drop')}
        </Button>
      </Stack>
    </Alert>
  );
}
