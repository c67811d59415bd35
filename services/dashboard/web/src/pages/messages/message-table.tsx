import type { SendSummary } from '@gateway/contracts/console/send-views';
import { Anchor, Table, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Moment } from '../../components/moment.js';
import { TablePanel } from '../../components/tables/table-panel.js';
import classes from './message-table.module.css';
import { SendState } from './send-status.js';

const COLUMNS = ['message', 'state', 'recipients', 'device', 'time'] as const;

/** A send in the list. */
export interface ListedMessage extends SendSummary {
  /** Place of the recipient whom it was found by. */
  recipient?: number;
}

export function MessageTable({ messages }: { messages: readonly ListedMessage[] }) {
  const { t } = useTranslation();
  return (
    <TablePanel label={t('messages.title')} columns={COLUMNS.map((column) => t(`messages.columns.${column}`))}>
      {messages.map((message) => (
        <Row key={message.messageId} message={message} />
      ))}
    </TablePanel>
  );
}

function Row({ message }: { message: ListedMessage }) {
  const { t } = useTranslation();
  const { messageId, kind, begins, status, total, counts, device, createdAtMs, recipient } = message;
  return (
    <Table.Tr>
      <Table.Td className={classes.message}>
        {begins && (
          <Text size="sm" truncate>
            <bdi>{begins}</bdi>
          </Text>
        )}
        <Anchor
          size={begins ? 'xs' : 'sm'}
          renderRoot={(props) => (
            <Link
              {...props}
              to="/messages/$message"
              params={{ message: messageId }}
              search={recipient === undefined ? {} : { recipient }}
            />
          )}
        >
          <span className="ltr mono">{messageId}</span>
        </Anchor>
        {(kind !== 'text' || !begins) && (
          <Text size="xs" c="dimmed">
            {t(`messages.kinds.${kind}`)}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <SendState status={status} />
        {counts.failed > 0 && status !== 'failed' && (
          <Text size="xs" c="dimmed">
            {t('messages.failed', { count: counts.failed })}
          </Text>
        )}
      </Table.Td>
      <Table.Td className="figures">{t('messages.people', { count: total })}</Table.Td>
      <Table.Td>
        <span className="ltr mono">{device}</span>
      </Table.Td>
      <Table.Td>
        <Moment ms={createdAtMs} />
      </Table.Td>
    </Table.Tr>
  );
}
