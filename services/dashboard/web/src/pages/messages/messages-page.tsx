import type { SendSummary } from '@gateway/contracts/console/send-views';
import { Button } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { MessagesSquare, Plus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { type MessageFilter, useMessages, useNewestMessages } from '../../api/messages.js';
import { useMe } from '../../api/session.js';
import { Page } from '../../components/page.js';
import { Empty } from '../../components/states/empty.js';
import { Loaded } from '../../components/states/loaded.js';
import { ShowMore } from '../../components/states/show-more.js';
import { SkeletonRows } from '../../components/states/skeleton-rows.js';
import { FindByNumber } from './find-by-number.js';
import { MessageFilters } from './message-filters.js';
import { MessageTable } from './message-table.js';

const route = getRouteApi('/inside/messages');

/** All sends, whichever program made them. The filter is in the address, to be sent to others. */
export function MessagesPage() {
  const { t } = useTranslation();
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const messages = useMessages(filter);
  const newest = useNewestMessages().data ?? [];
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  const show = (change: MessageFilter) => void navigate({ search: (old) => ({ ...old, ...change }) });
  const mayAct = useMe().user.role !== 'viewer';
  const write = mayAct && (
    <Button leftSection={<Plus size={16} />} component={Link} to="/messages/new">
      {t('messages.new')}
    </Button>
  );
  const list = (
    <>
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
            <MessageTable messages={all} />
          );
        }}
      </Loaded>
      <ShowMore query={messages} />
    </>
  );
  return (
    <Page title={t('messages.title')} about={t('messages.about')} actions={write}>
      {mayAct ? <FindByNumber>{list}</FindByNumber> : list}
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
