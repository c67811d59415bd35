import { OVERVIEW_SPANS, type Overview, type OverviewHours } from '@gateway/contracts/console/overview';
import { Group, NativeSelect, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { sayNumber } from '../../app/language.js';
import { Panel } from '../../components/panel.js';
import classes from './activity.module.css';
import { Bars } from './bars.js';

const SHOWN = ['queued', 'sent', 'delivered', 'read', 'failed'] as const;
const SPANS = Object.keys(OVERVIEW_SPANS).map(Number) as OverviewHours[];

interface ActivityProps {
  overview: Pick<Overview, 'hours' | 'bars'>;
  onSpan: (hours: OverviewHours) => void;
}

/** What became of recipients in the time that was chosen, and how long the network took to acknowledge. */
export function Activity({ overview: { hours, bars }, onSpan }: ActivityProps) {
  const { t } = useTranslation();
  const sum = (field: (typeof SHOWN)[number] | 'ackMs') => bars.reduce((total, bar) => total + bar[field], 0);
  const sent = sum('sent');
  return (
    <Panel>
      <Stack>
        <Group justify="space-between" align="center" gap="xs">
          <Title order={2} size="h4">
            {t('overview.activity')}
          </Title>
          <Group gap="md">
            {sent > 0 && (
              <Text size="sm" c="dimmed" className="figures">
                {t('overview.ack', { seconds: (sum('ackMs') / sent / 1000).toFixed(1) })}
              </Text>
            )}
            <NativeSelect
              size="xs"
              aria-label={t('overview.span')}
              value={String(hours)}
              onChange={({ currentTarget: { value } }) => onSpan(Number(value) as OverviewHours)}
              data={SPANS.map((span) => ({ value: String(span), label: t(`overview.spans.${span}`) }))}
            />
          </Group>
        </Group>
        <SimpleGrid cols={{ base: 2, xs: 5 }} component="dl" m={0}>
          {SHOWN.map((status) => (
            <div key={status} className={classes.total}>
              <Text size="xs" c="dimmed" component="dt">
                {t(`overview.became.${status}`)}
              </Text>
              <Text size="xl" fw={620} className="figures" component="dd" m={0}>
                {sayNumber(sum(status))}
              </Text>
            </div>
          ))}
        </SimpleGrid>
        <Bars bars={bars} hours={hours} />
      </Stack>
    </Panel>
  );
}
