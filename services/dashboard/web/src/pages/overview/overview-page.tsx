import { SimpleGrid, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useOverview } from '../../api/overview.js';
import { Page } from '../../components/page.js';
import { Loaded } from '../../components/states/loaded.js';
import { SkeletonRows } from '../../components/states/skeleton-rows.js';
import { DeviceStates } from './device-states.js';
import { FailureReasons } from './failure-reasons.js';
import { FirstSteps } from './first-steps.js';
import { LastHour } from './last-hour.js';

/** How it goes, and how to begin. */
export function OverviewPage() {
  const { t } = useTranslation();
  const overview = useOverview();
  return (
    <Page title={t('overview.title')}>
      <Loaded query={overview} skeleton={<SkeletonRows />}>
        {({ minutes, failures, steps }) => (
          <Stack gap="lg">
            <FirstSteps steps={steps} />
            <LastHour minutes={minutes} />
            <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
              <DeviceStates />
              <FailureReasons failures={failures} />
            </SimpleGrid>
          </Stack>
        )}
      </Loaded>
    </Page>
  );
}
