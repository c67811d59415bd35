import type { Overview } from '@gateway/contracts/console/overview';
import { Group, Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { sayNumber } from '../../app/language.js';
import { Panel } from '../../components/panel.js';
import { useErrorText } from '../messages/error-text.js';

/** Why recipients failed, the most frequent reason first. */
export function FailureReasons({ failures }: { failures: Overview['failures'] }) {
  const { t } = useTranslation();
  const textOf = useErrorText();
  const reasons = Object.entries(failures).sort(([, one], [, other]) => other - one);
  return (
    <Panel>
      <Stack gap="sm">
        <Title order={2} size="h4">
          {t('overview.failures')}
        </Title>
        {reasons.length === 0 && (
          <Text size="sm" c="dimmed">
            {t('overview.noFailures')}
          </Text>
        )}
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
