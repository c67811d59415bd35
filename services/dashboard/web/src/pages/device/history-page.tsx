import { Anchor, Button, Group, Stack } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { ChevronLeft, History } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useDevice, useHistory } from '../../api/devices.js';
import { Page } from '../../components/page.js';
import { Empty } from '../../components/states/empty.js';
import { Loaded } from '../../components/states/loaded.js';
import { ShowMore } from '../../components/states/show-more.js';
import { SkeletonRows } from '../../components/states/skeleton-rows.js';
import { HistoryList } from './history-list.js';

const AT_ONCE = 100;

/** What a device went through: its last 500 changes of state. */
export function HistoryPage() {
  const { t } = useTranslation();
  const { device: id } = useParams({ from: '/inside/devices/$device/history' });
  const { data: view } = useDevice(id);
  const history = useHistory(id, view);
  const [shown, show] = useState(AT_ONCE);
  const rest = { hasNextPage: (history.data?.length ?? 0) > shown, isFetchingNextPage: false };
  return (
    <Stack>
      <Anchor
        size="sm"
        maw={1160}
        mx="auto"
        w="100%"
        renderRoot={(props) => <Link {...props} to="/devices/$device" params={{ device: id }} />}
      >
        <Group gap={4} component="span">
          <ChevronLeft size={16} className="turns" aria-hidden /> <bdi>{view?.name ?? id}</bdi>
        </Group>
      </Anchor>
      <Page title={t('history.title')} name={`${t('history.title')} · ${id}`} about={t('history.about')}>
        <Loaded query={history} skeleton={<SkeletonRows />}>
          {(changes) =>
            changes.length === 0 ? (
              <Empty
                icon={<History size={36} strokeWidth={1.4} />}
                title={t('history.empty.title')}
                about={t('history.empty.about')}
                action={
                  <Button
                    variant="default"
                    renderRoot={(props) => <Link {...props} to="/devices/$device" params={{ device: id }} />}
                  >
                    {t('history.empty.link')}
                  </Button>
                }
              />
            ) : (
              <HistoryList changes={changes.slice(0, shown)} />
            )
          }
        </Loaded>
        <ShowMore query={{ ...rest, fetchNextPage: () => show((count) => count + AT_ONCE) }} />
      </Page>
    </Stack>
  );
}
