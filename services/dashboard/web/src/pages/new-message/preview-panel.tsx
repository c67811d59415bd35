import { Alert, Button, List, Stack, Text, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { previewMessage } from '../../api/messages.js';
import { Moment } from '../../components/moment.js';
import { Panel } from '../../components/panel.js';
import { Failure } from '../../components/states/failure.js';
import type { CheckedList } from './check-list.js';

const SHOWN = 10;

interface PreviewPanelProps {
  device: string;
  list: CheckedList;
  /** Messages for each. */
  parts: number;
  onDropBad: () => void;
}

/** What will become of the list, before it is sent. */
export function PreviewPanel({ device, list: { numbers, bad, duplicates }, parts, onDropBad }: PreviewPanelProps) {
  const { t } = useTranslation();
  const [asked] = useDebouncedValue(numbers, 300);
  const { data, error } = useQuery({
    queryKey: ['preview', device, parts, asked.join()],
    queryFn: () => previewMessage({ device, to: asked, parts }),
    enabled: asked.length > 0,
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
  return (
    <Panel>
      <Stack gap="sm" aria-live="polite">
        <Title order={2} size="h5">
          {t('compose.check')}
        </Title>
        <Text fw={560}>{t('messages.people', { count: numbers.length })}</Text>
        {duplicates > 0 && <Text size="sm">{t('compose.duplicates', { count: duplicates })}</Text>}
        {data && numbers.length > 0 && data.optedOut.length > 0 && (
          <Text size="sm">{t('compose.optedOut', { count: data.optedOut.length })}</Text>
        )}
        {data && numbers.length > 0 && (
          <Text size="sm">
            {t('compose.finish')} <Moment ms={data.finishAtMs} />
          </Text>
        )}
        {data && numbers.length > 0 && data.finishAtMs > data.expiresAtMs && (
          <Alert color="yellow" variant="outline" c="var(--mantine-color-text)">
            {t('compose.tooLate')}
          </Alert>
        )}
        {error && <Failure error={error} />}
        {bad.length > 0 && (
          <Alert color="red" variant="outline" c="var(--mantine-color-text)">
            <Stack gap="xs" align="flex-start">
              <Text size="sm">{t('compose.bad', { count: bad.length })}</Text>
              <List size="sm">
                {bad.slice(0, SHOWN).map(({ line, text }) => (
                  <List.Item key={line}>
                    {t('compose.line', { line })} <bdi className="mono">{text}</bdi>
                  </List.Item>
                ))}
              </List>
              <Button size="compact-sm" variant="default" onClick={onDropBad}>
                {t('compose.drop')}
              </Button>
            </Stack>
          </Alert>
        )}
      </Stack>
    </Panel>
  );
}
