import type { Overview } from '@gateway/contracts/console/overview';
import { Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useTimeText } from '../../components/moment.js';
import { Panel } from '../../components/panel.js';
import classes from './last-hour.module.css';

type Minutes = Overview['minutes'];
const SHOWN = ['queued', 'sent', 'delivered', 'read', 'failed'] as const;

/** What became of recipients in the last hour, and a bar for each minute of it. */
export function LastHour({ minutes }: { minutes: Minutes }) {
  const { t } = useTranslation();
  const totals = SHOWN.map((status) => [status, sum(minutes.map((each) => each[status]))] as const);
  const sent = sum(minutes.map((each) => each.sent));
  const ackMs = sum(minutes.map((each) => each.ackMs));
  return (
    <Panel>
      <Stack>
        <Group justify="space-between" align="baseline">
          <Title order={2} size="h4">
            {t('overview.hour')}
          </Title>
          {sent > 0 && (
            <Text size="sm" c="dimmed" className="figures">
              {t('overview.ack', { seconds: (ackMs / sent / 1000).toFixed(1) })}
            </Text>
          )}
        </Group>
        <SimpleGrid cols={{ base: 2, xs: 5 }} component="dl" m={0}>
          {totals.map(([status, count]) => (
            <div key={status} className={classes.total}>
              <Text size="xs" c="dimmed" component="dt">
                {t(`overview.became.${status}`)}
              </Text>
              <Text size="xl" fw={620} className="figures" component="dd" m={0}>
                {count}
              </Text>
            </div>
          ))}
        </SimpleGrid>
        <Bars minutes={minutes} />
      </Stack>
    </Panel>
  );
}

/** The totals above say the same to those who cannot see it. */
function Bars({ minutes }: { minutes: Minutes }) {
  const { t } = useTranslation();
  const time = useTimeText();
  const most = Math.max(1, ...minutes.map(({ sent, failed }) => sent + failed));
  const percent = (count: number) => `${(100 * count) / most}%`;
  return (
    <div>
      <div className={classes.bars} role="img" aria-label={t('overview.bars')}>
        {minutes.map(({ atMs, sent, failed }) => (
          <div key={atMs} className={classes.minute}>
            <div className={classes.failed} style={{ height: percent(failed) }} />
            <div className={classes.sent} style={{ height: percent(sent) }} />
          </div>
        ))}
      </div>
      <Group justify="space-between">
        {[minutes[0], minutes.at(-1)].map(
          (minute) =>
            minute && (
              <Text key={minute.atMs} size="xs" c="dimmed" className="figures">
                {time(minute.atMs)}
              </Text>
            ),
        )}
      </Group>
    </div>
  );
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
