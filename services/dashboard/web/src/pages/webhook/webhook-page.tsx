import type { WebhookPage as Known } from '@gateway/contracts/console/webhook-views';
import { Code, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import '@mantine/core/styles/Code.css';
import { useParams } from '@tanstack/react-router';
import { Inbox } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../api/session.js';
import { useWebhook } from '../../api/webhooks.js';
import { BackLink } from '../../components/back-link.js';
import { Page } from '../../components/page.js';
import { Panel } from '../../components/panel.js';
import { Empty } from '../../components/states/empty.js';
import { Loaded } from '../../components/states/loaded.js';
import { SkeletonRows } from '../../components/states/skeleton-rows.js';
import { DeliveryTable } from './delivery-table.js';
import { ParkedTable } from './parked-table.js';
import { TestButton } from './test-button.js';
import { WebhookActions } from './webhook-actions.js';
import { WebhookFacts } from './webhook-facts.js';

/** One endpoint: how it is, what it is told, and what it answered. */
export function WebhookPage() {
  const { webhook: id } = useParams({ from: '/inside/settings/webhooks/$webhook' });
  const { t } = useTranslation();
  const webhook = useWebhook(id);
  const view = webhook.data?.webhook;
  return (
    <Stack>
      <BackLink to="/settings/webhooks" label={t('webhooks.title')} />
      <Page
        title={
          <span className="ltr" style={{ overflowWrap: 'anywhere' }}>
            {view?.host ?? id}
          </span>
        }
        name={view?.host ?? id}
        about={view?.description && <bdi>{view.description}</bdi>}
        actions={view && <WebhookActions view={view} />}
      >
        <Loaded query={webhook} skeleton={<SkeletonRows />}>
          {(known) => (known ? <Parts known={known} /> : <Text>{t('errors.not_found')}</Text>)}
        </Loaded>
      </Page>
    </Stack>
  );
}

function Parts({ known: { webhook, deliveries, parked } }: { known: Known }) {
  const { t } = useTranslation();
  const mayTest = useMe().user.role !== 'viewer';
  return (
    <Stack gap="lg">
      <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
        <WebhookFacts view={webhook} />
        <Stack gap="lg">
          {mayTest && webhook.host !== undefined && <TestButton id={webhook.id} />}
          <Types types={webhook.types} />
        </Stack>
      </SimpleGrid>
      {parked.length > 0 && <ParkedTable id={webhook.id} parked={parked} />}
      {deliveries.length === 0 ? (
        <Empty
          icon={<Inbox size={36} strokeWidth={1.4} />}
          title={t('webhooks.deliveries.none')}
          about={t('webhooks.deliveries.noneAbout')}
        />
      ) : (
        <DeliveryTable deliveries={deliveries} />
      )}
    </Stack>
  );
}

function Types({ types }: { types: readonly string[] }) {
  const { t } = useTranslation();
  return (
    <Panel>
      <Stack gap={6}>
        <Title order={2} size="h4">
          {t('webhooks.columns.types')}
        </Title>
        <Group gap="xs" dir="ltr">
          {types.map((type) => (
            <Code key={type}>{type}</Code>
          ))}
        </Group>
      </Stack>
    </Panel>
  );
}
