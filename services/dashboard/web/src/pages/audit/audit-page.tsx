import { AUDIT_ACTIONS, type AuditAction, COMMAND_LINE } from '@gateway/contracts/console/users';
import { Button, NativeSelect, SimpleGrid, Table, Text } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { ScrollText } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { type AuditFilter, useAudit } from '../../api/audit.js';
import { useUsers } from '../../api/users.js';
import { Moment } from '../../components/moment.js';
import { Page } from '../../components/page.js';
import { Empty } from '../../components/states/empty.js';
import { Loaded } from '../../components/states/loaded.js';
import { ShowMore } from '../../components/states/show-more.js';
import { SkeletonRows } from '../../components/states/skeleton-rows.js';
import { TablePanel } from '../../components/tables/table-panel.js';

const route = getRouteApi('/inside/settings/audit');
const COLUMNS = ['time', 'user', 'action', 'target', 'workspace', 'request'] as const;

/** Who changed what in 90 days. The filter is in the address, to be sent to others. */
export function AuditPage() {
  const { t } = useTranslation();
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const audit = useAudit(filter);
  const show = (change: AuditFilter) => void navigate({ search: (old) => withoutEmpty({ ...old, ...change }) });
  const isFiltered = filter.user !== undefined || filter.action !== undefined;
  return (
    <Page title={t('audit.title')} about={t('audit.about')}>
      <Filters filter={filter} onChange={show} />
      <Loaded query={audit} skeleton={<SkeletonRows />}>
        {(entries) =>
          entries.length === 0 && !audit.hasNextPage ? (
            <Empty
              icon={<ScrollText size={36} strokeWidth={1.4} />}
              title={t('audit.empty.title')}
              about={isFiltered ? t('audit.empty.filtered') : t('audit.empty.about')}
              action={
                isFiltered && (
                  <Button variant="default" onClick={() => show({ user: undefined, action: undefined })}>
                    {t('audit.showAll')}
                  </Button>
                )
              }
            />
          ) : (
            <TablePanel label={t('audit.title')} columns={COLUMNS.map((column) => t(`audit.columns.${column}`))}>
              {entries.map(({ id, atMs, user, action, target, workspace, requestId }) => (
                <Table.Tr key={id}>
                  <Table.Td>
                    <Moment ms={atMs} />
                  </Table.Td>
                  <Table.Td>
                    <bdi>{user === COMMAND_LINE ? t('audit.commandLine') : user}</bdi>
                  </Table.Td>
                  <Table.Td>{t(`audit.actions.${action}`, { defaultValue: action })}</Table.Td>
                  <Table.Td>
                    <bdi className="mono">{target ?? '–'}</bdi>
                  </Table.Td>
                  <Table.Td>
                    <bdi>{workspace ?? '–'}</bdi>
                  </Table.Td>
                  <Table.Td>
                    <Text size="xs" c="dimmed" className="ltr mono" maw={{ base: 320, sm: 110, xl: 320 }} truncate>
                      {requestId}
                    </Text>
                  </Table.Td>
                </Table.Tr>
              ))}
            </TablePanel>
          )
        }
      </Loaded>
      <ShowMore query={audit} />
    </Page>
  );
}

function Filters({ filter, onChange }: { filter: AuditFilter; onChange: (change: AuditFilter) => void }) {
  const { t } = useTranslation();
  const names = [...new Set([...(useUsers().data ?? []).map(({ name }) => name), filter.user ?? COMMAND_LINE])];
  if (!names.includes(COMMAND_LINE)) names.push(COMMAND_LINE);
  return (
    <SimpleGrid cols={2} spacing="sm" maw={480}>
      <NativeSelect
        label={t('audit.columns.user')}
        value={filter.user ?? ''}
        onChange={({ currentTarget: { value } }) => onChange({ user: value })}
        data={[
          { value: '', label: t('audit.anyone') },
          ...names.map((name) => ({ value: name, label: name === COMMAND_LINE ? t('audit.commandLine') : name })),
        ]}
      />
      <NativeSelect
        label={t('audit.columns.action')}
        value={filter.action ?? ''}
        onChange={({ currentTarget: { value } }) => onChange({ action: value as AuditAction })}
        data={[
          { value: '', label: t('audit.anything') },
          ...AUDIT_ACTIONS.map((action) => ({ value: action, label: t(`audit.actions.${action}`) })),
        ]}
      />
    </SimpleGrid>
  );
}

function withoutEmpty({ user, action }: AuditFilter): AuditFilter {
  return { ...(user && { user }), ...(action && { action }) };
}
