import type { SendSummary } from '@gateway/contracts/console/send-views';
import { Anchor, Button, Table, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { MessagesSquare, Plus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { type MessageFilter, useMessages, useNewestMessages } from '../../api/messages.js';
import { useMe } from '../../api/session.js';
import { Moment } from '../../components/moment.js';
import { Page } from '../../components/page.js';
import { Empty } from '../../components/states/empty.js';
import { Loaded } from '../../components/states/loaded.js';
import { ShowMore } from '../../components/states/show-more.js';
import { SkeletonRows } from '../../components/states/skeleton-rows.js';
import { TablePanel } from '../../components/tables/table-panel.js';
import { MessageFilters } from './message-filters.js';
import { SendState } from './send-status.js';

const route = getRouteApi('/inside/messages');
const COLUMNS = ['message', 'state', 'recipients', 'device', 'time'] as const;

/** All sends, whichever program made them. The filter is in the address, to be sent to others. */
export function MessagesPage() {
  const { t } = useTranslation();
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const messages = useMessages(filter);
  const newest = useNewestMessages().data ?? [];
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const show = (change: MessageFilter) => void navigate({ search: (old) => ({ ...old, ...change }) });
  const write = useMe().user.role !== 'viewer' && (
    <Button leftSection={<Plus size={16} />} component={Link} to="/messages/new">
      {t('messages.new')}
    </Button>
  );
  return (
    <Page title={t('messages.title')} about={t('messages.about')} actions={write}>
      <MessageFilters filter={filter} onChange={show} />
      <Loaded query={messages} skeleton={<SkeletonRows />}>
        {(listed) => {
          const all = upToDate(listed, newest, isFiltered);
          return all.length === 0 && !messages.hasNextPage ? (
            <Empty
              icon={<MessagesSquare size={36} strokeWidth={1.4} />}
              title={t('messages.empty.title')}
              about={isFiltered ? t('messages.empty.filtered') : t('messages.empty.about')}
              action={
                isFiltered && (
                  <Button variant="default" onClick={() => void navigate({ search: {} })}>
                    {t('messages.showAll')}
                  </Button>
                )
              }
            />
          ) : (
            <TablePanel
              label={t('messages.title')}
              columns={COLUMNS.map((column) => t(`messages.columns.${column}`))}
              minWidth={760}
            >
              {all.map((message) => (
                <Row key={message.messageId} message={message} />
              ))}
            </TablePanel>
          );
        }}
      </Loaded>
      <ShowMore query={messages} />
    </Page>
  );
}

/** The newest state of each; without a filter those that came since are in front. */
function upToDate(listed: readonly SendSummary[], newest: readonly SendSummary[], isFiltered: boolean): SendSummary[] {
  const known = new Map(newest.map((message) => [message.messageId, message]));
  const ids = new Set(listed.map(({ messageId }) => messageId));
  const added = isFiltered || listed.length === 0 ? [] : newest.filter(({ messageId }) => !ids.has(messageId));
  const first = listed[0]?.createdAtMs ?? 0;
  const inFront = added.filter(({ createdAtMs }) => createdAtMs >= first);
  return [...inFront, ...listed.map((message) => known.get(message.messageId) ?? message)];
}

function Row({ message }: { message: SendSummary }) {
  const { t } = useTranslation();
  const { messageId, kind, status, total, counts, device, createdAtMs } = message;
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor
          size="sm"
          renderRoot={(props) => <Link {...props} to="/messages/$message" params={{ message: messageId }} />}
        >
          <span className="ltr mono">{messageId}</span>
        </Anchor>
        <Text size="xs" c="dimmed">
          {t(`messages.kinds.${kind}`)}
        </Text>
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
