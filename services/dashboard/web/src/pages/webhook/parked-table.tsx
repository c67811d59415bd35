import type { ParkedView } from '@gateway/contracts/console/webhook-views';
import { Button, Group, Stack, Table, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../api/session.js';
import { replayWebhook } from '../../api/webhooks.js';
import { Moment } from '../../components/moment.js';
import { useFailureText } from '../../components/states/failure.js';
import { TablePanel } from '../../components/tables/table-panel.js';
import { useAnswerText } from '../webhooks/use-answer-text.js';

const COLUMNS = ['event', 'since', 'last', 'attempts', 'next'] as const;

/** What the endpoint refuses while it takes other requests. */
export function ParkedTable({ id, parked }: { id: string; parked: readonly ParkedView[] }) {
  const { t } = useTranslation();
  const mayReplay = useMe().user.role !== 'viewer';
  return (
    <Stack gap="sm">
      <Stack gap={4}>
        <Title order={2} size="h4">
          {t('webhooks.parked.title')}
        </Title>
        <Text size="sm" c="dimmed">
          {t('webhooks.parked.about')}
        </Text>
      </Stack>
      <TablePanel
        label={t('webhooks.parked.title')}
        columns={COLUMNS.map((column) => t(`webhooks.parked.${column}`))}
        {...(mayReplay && { deeds: t('webhooks.parked.replay') })}
      >
        {parked.map((event) => (
          <Row key={event.id} id={id} event={event} mayReplay={mayReplay} />
        ))}
      </TablePanel>
    </Stack>
  );
}

function Row({ id, event, mayReplay }: { id: string; event: ParkedView; mayReplay: boolean }) {
  const { t } = useTranslation();
  const answerOf = useAnswerText();
  const textOf = useFailureText();
  const { mutate, isPending } = useMutation({
    mutationFn: replayWebhook,
    onSuccess: () => notifications.show({ message: t('webhooks.parked.replayed') }),
    onError: (error) => notifications.show({ message: textOf(error), color: 'red' }),
  });
  return (
    <Table.Tr>
      <Table.Td>
        <Text size="sm">
          <span className="ltr mono">{event.type}</span>
        </Text>
        <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          <span className="ltr mono">{event.id}</span>
        </Text>
        {event.waiting > 0 && (
          <Text size="xs" c="dimmed">
            {t('webhooks.parked.waiting', { count: event.waiting })}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <Moment ms={event.sinceMs} />
      </Table.Td>
      <Table.Td>{event.lastStatus === undefined ? '–' : answerOf({ status: event.lastStatus, error: null })}</Table.Td>
      <Table.Td className="figures">{event.attempts}</Table.Td>
      <Table.Td>
        {event.nextAttemptMs === undefined ? t('webhooks.parked.never') : <Moment ms={event.nextAttemptMs} />}
      </Table.Td>
      {mayReplay && (
        <Table.Td>
          <Group justify="flex-end">
            <Button
              size="compact-sm"
              variant="default"
              loading={isPending}
              aria-label={`${t('webhooks.parked.replay')}: ${event.id}`}
              onClick={() => mutate({ id, what: { ids: [event.id] } })}
            >
              {t('webhooks.parked.replay')}
            </Button>
          </Group>
        </Table.Td>
      )}
    </Table.Tr>
  );
}
