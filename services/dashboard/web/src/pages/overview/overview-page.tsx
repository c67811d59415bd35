import { SimpleGrid, Stack } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useOverview } from '../../api/overview.js';
import { Page } from '../../components/page.js';
import { Loaded } from '../../components/states/loaded.js';
import { SkeletonRows } from '../../components/states/skeleton-rows.js';
import { Activity } from './activity.js';
import { DeviceStates } from './device-states.js';
import { FailureReasons } from './failure-reasons.js';
import { FirstSteps } from './first-steps.js';
import { Overdue } from './overdue.js';

const route = getRouteApi('/inside/overview');

/** How it goes, and how to begin. */
export function OverviewPage() {
  const { t } = useTranslation();
  const { hours = 1 } = route.useSearch();
  const navigate = route.useNavigate();
  const overview = useOverview(hours);
  return (
    <Page title={t('overview.title')}>
      <Loaded query={overview} skeleton={<SkeletonRows />}>
        {(view) => (
          <Stack gap="lg">
            <FirstSteps steps={view.steps} />
            <Activity overview={view} onSpan={(span) => void navigate({ search: { hours: span } })} />
            <SimpleGrid cols={{ base: 1, lg: 3 }} spacing="lg">
              <DeviceStates />
              <Overdue overdue={view.overdue} />
              <FailureReasons overview={view} />
            </SimpleGrid>
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}
