import type { Overview } from '@gateway/contracts/console/overview';
import { Group, Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { sayNumber } from '../../app/language.js';
import { useShortTimeText } from '../../components/moment.js';
import { Panel } from '../../components/panel.js';
import { useErrorText } from '../messages/error-text.js';

const HOUR_MS = 3_600_000;

/** Why recipients failed, the most frequent reason first. Reasons are counted by the hour: more may have failed than above. */
export function FailureReasons({ overview: { failures, bars, hours } }: { overview: Overview }) {
  const { t } = useTranslation();
  const timeOf = useShortTimeText();
  const sinceMs = Math.floor(bars[0]!.atMs / HOUR_MS) * HOUR_MS;
  const textOf = useErrorText();
  const reasons = Object.entries(failures).sort(([, one], [, other]) => other - one);
  return (
    <Panel>
      <Stack gap="sm">
        <Title order={2} size="h4">
          {t('overview.failures')}
        </Title>
        <Text size="sm" c="dimmed">
          {reasons.length === 0
            ? t('overview.noFailures')
            : t('overview.failuresSince', { time: timeOf(sinceMs, hours > 24) })}
        </Text>
        {reasons.map(([reason, count]) => (
          <Group key={reason} justify="space-between" align="flex-start" wrap="nowrap">
            <div>
              <Text size="sm">{textOf(reason)}</Text>
              <Text size="xs" c="dimmed">
                <span className="ltr mono">{reason}</span>
              </Text>
            </div>
            <Text size="sm" className="figures">
              {sayNumber(count)}
            </Text>
          </Group>
        ))}
      </Stack>
    </Panel>
  );
}
