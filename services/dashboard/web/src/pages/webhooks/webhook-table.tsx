import type { WebhookView } from '@gateway/contracts/console/webhook-views';
import { Anchor, Table, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Moment } from '../../components/moment.js';
import { TablePanel } from '../../components/tables/table-panel.js';
import { WebhookState } from './webhook-state.js';

const COLUMNS = ['endpoint', 'state', 'types', 'devices', 'lastSuccess'] as const;
/** Of the types that it is told, these many are named. */
const NAMED = 2;

export function WebhookTable({ webhooks }: { webhooks: readonly WebhookView[] }) {
  const { t } = useTranslation();
  return (
    <TablePanel label={t('webhooks.title')} columns={COLUMNS.map((column) => t(`webhooks.columns.${column}`))}>
      {webhooks.map((view) => (
        <Row key={view.id} view={view} />
      ))}
    </TablePanel>
  );
}

function Row({ view }: { view: WebhookView }) {
  const { t } = useTranslation();
  const { id, host, description, types, devices, lastSuccessAtMs } = view;
  const more = types.length - NAMED;
  return (
    <Table.Tr>
      <Table.Td>
        <Anchor
          size="sm"
          fw={560}
          renderRoot={(props) => <Link {...props} to="/settings/webhooks/$webhook" params={{ webhook: id }} />}
        >
          <span className="ltr" style={{ overflowWrap: 'anywhere' }}>
            {host ?? id}
          </span>
        </Anchor>
        {description && (
          <Text size="xs" c="dimmed" maw={240} truncate>
            <bdi>{description}</bdi>
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        <WebhookState view={view} />
      </Table.Td>
      <Table.Td>
        <Text size="xs">
          <span className="ltr mono">{types.slice(0, NAMED).join(', ')}</span>
        </Text>
        {more > 0 && (
          <Text size="xs" c="dimmed">
            {t('webhooks.moreTypes', { count: more })}
          </Text>
        )}
      </Table.Td>
      <Table.Td>{devices ? <span className="ltr mono">{devices.join(', ')}</span> : t('webhooks.allDevices')}</Table.Td>
      <Table.Td>{lastSuccessAtMs ? <Moment ms={lastSuccessAtMs} /> : t('webhooks.noSuccess')}</Table.Td>
    </Table.Tr>
  );
}
