import type { DeviceView } from '@gateway/contracts/console/views';
import { Alert, Anchor, Stack, Text, Title } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { nowMs } from '../../api/clock.js';
import { previewMessage } from '../../api/messages.js';
import { Moment, useTick } from '../../components/moment.js';
import { Panel } from '../../components/panel.js';
import { Failure } from '../../components/states/failure.js';
import type { CheckedList } from './check-list.js';

interface PreviewPanelProps {
  device: DeviceView;
  list: CheckedList;
  /** Messages for each. */
  parts: number;
}

/** What will become of the list, before it is sent. */
export function PreviewPanel({
  device: { id: device, status },
  list: { numbers, duplicates },
  parts,
}: PreviewPanelProps) {
  const { t } = useTranslation();
  const [asked] = useDebouncedValue(numbers, 300);
  useTick(10_000);
  const { data, error } = useQuery({
    queryKey: ['preview', device, parts, asked.join()],
    queryFn: async () => {
      const preview = await previewMessage({ device, to: asked, parts });
      return { ...preview, answeredAtMs: nowMs() };
    },
    enabled: asked.length > 0,
    placeholderData: keepPreviousData,
    gcTime: 0,
  });
  // Reckoned as if it were sent when the answer was made, which came later: it moves on while the form is open.
  const openMs = data ? Math.max(0, nowMs() - data.answeredAtMs) : 0;
  const finishMs = data ? Math.max(data.finishAtMs, data.answeredAtMs) + openMs : 0;
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
            {t('compose.finish')} <Moment ms={finishMs} />
          </Text>
        )}
        {data && numbers.length > 0 && data.finishAtMs > data.expiresAtMs && (
          <Alert color="yellow" variant="outline" c="var(--mantine-color-text)">
            {t('compose.tooLate')}
          </Alert>
        )}
        {status === 'disconnected' && (
          <Alert color="yellow" variant="outline" c="var(--mantine-color-text)">
            {t('errors.no_device')}{' '}
            <Anchor component={Link} to={`/devices/${device}`} inherit>
              {t('link.title')}
            </Anchor>
          </Alert>
        )}
        {error && <Failure error={error} />}
      </Stack>
    </Panel>
  );
}
