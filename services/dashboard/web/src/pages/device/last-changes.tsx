import type { DeviceView } from '@gateway/contracts/console/views';
import { Anchor, Group, Stack, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useHistory } from '../../api/devices.js';
import { Loaded } from '../../components/states/loaded.js';
import { SkeletonRows } from '../../components/states/skeleton-rows.js';
import { HistoryList } from './history-list.js';

const SHOWN = 5;

/** What the device went through last, and the way to all of it. */
export function LastChanges({ view }: { view: DeviceView }) {
  const { t } = useTranslation();
  const history = useHistory(view.id, view);
  if (history.data?.length === 0) return null;
  return (
    <Stack gap="sm">
      <Group justify="space-between" align="baseline">
        <Title order={2} size="h4">
          {t('history.title')}
        </Title>
        <Anchor
          size="sm"
          renderRoot={(props) => <Link {...props} to="/devices/$device/history" params={{ device: view.id }} />}
        >
          {t('history.all')}
        </Anchor>
      </Group>
      <Loaded query={history} skeleton={<SkeletonRows />}>
        {(changes) => <HistoryList changes={changes.slice(0, SHOWN)} />}
      </Loaded>
    </Stack>
  );
}
