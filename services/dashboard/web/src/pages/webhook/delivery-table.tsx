import type { DeliveryView } from '@gateway/contracts/console/webhook-views';
import { Stack, Table, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Moment } from '../../components/moment.js';
import { StateMark } from '../../components/states/state-mark.js';
import { TablePanel } from '../../components/tables/table-panel.js';
import { useAnswerText } from '../webhooks/use-answer-text.js';

const COLUMNS = ['time', 'status', 'attempt', 'took', 'request'] as const;

/** The latest requests, the newest first. */
export function DeliveryTable({ deliveries }: { deliveries: readonly DeliveryView[] }) {
  const { t } = useTranslation();
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {t('webhooks.deliveries.title')}
      </Title>
      <TablePanel
        label={t('webhooks.deliveries.title')}
        columns={COLUMNS.map((column) => t(`webhooks.deliveries.${column}`))}
      >
        {deliveries.map((delivery) => (
          <Row key={`${delivery.webhookId} ${delivery.atMs}`} delivery={delivery} />
        ))}
      </TablePanel>
    </Stack>
  );
}

function Row({ delivery }: { delivery: DeliveryView }) {
  const { t } = useTranslation();
  const textOf = useAnswerText();
  const { webhookId, atMs, tookMs, status, answer, attempt } = delivery;
  const isTaken = status !== null && status >= 200 && status < 300;
  return (
    <Table.Tr>
      <Table.Td>
        <Moment ms={atMs} />
      </Table.Td>
      <Table.Td>
        <StateMark tone={isTaken ? 'good' : 'bad'}>{textOf(delivery)}</StateMark>
        {!isTaken && answer !== '' && (
          <Text size="xs" c="dimmed" maw={320} lineClamp={2}>
            <bdi className="mono">{answer}</bdi>
          </Text>
        )}
      </Table.Td>
      <Table.Td className="figures">{attempt}</Table.Td>
      <Table.Td className="figures">{t('webhooks.took', { ms: tookMs })}</Table.Td>
      <Table.Td>
        <Text span size="xs" c="dimmed" className="ltr mono" style={{ overflowWrap: 'anywhere' }}>
          {webhookId}
        </Text>
      </Table.Td>
    </Table.Tr>
  );
}
