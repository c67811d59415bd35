import { Badge, Button, Table, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { MonitorSmartphone } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { signOut } from '../../api/session.js';
import { useSessions } from '../../api/users.js';
import { ConfirmDialog } from '../../components/confirm-dialog.js';
import { Moment } from '../../components/moment.js';
import { Page } from '../../components/page.js';
import { Loaded } from '../../components/states/loaded.js';
import { SkeletonRows } from '../../components/states/skeleton-rows.js';
import { TablePanel } from '../../components/tables/table-panel.js';
import { nameBrowser } from './name-browser.js';

/** Where one is signed in, and the end of all of it. */
export function SessionsPage() {
  const { t } = useTranslation();
  const sessions = useSessions();
  const navigate = useNavigate();
  const [isAsking, setAsking] = useState(false);
  const leave = async () => {
    await signOut({ everywhere: true });
    await navigate({ to: '/sign-in' });
  };
  return (
    <Page
      title={t('sessions.title')}
      about={t('sessions.about')}
      actions={
        <Button variant="default" leftSection={<MonitorSmartphone size={16} />} onClick={() => setAsking(true)}>
          {t('menu.signOutEverywhere')}
        </Button>
      }
    >
      <Loaded query={sessions} skeleton={<SkeletonRows />}>
        {(all) => (
          <TablePanel
            label={t('sessions.title')}
            columns={[t('sessions.browser'), t('sessions.began'), t('sessions.lastUsed')]}
          >
            {all.map(({ id, browser, createdAtMs, lastUsedAtMs, isThis }) => (
              <Table.Tr key={id}>
                <Table.Td>
                  <Text size="sm" fw={560} span>
                    <bdi>{nameBrowser(browser) ?? t('sessions.unknown')}</bdi>
                  </Text>
                  {isThis && (
                    <Badge size="xs" variant="default" ms={8} fw={520} tt="none">
                      {t('sessions.this')}
                    </Badge>
                  )}
                </Table.Td>
                <Table.Td>
                  <Moment ms={createdAtMs} />
                </Table.Td>
                <Table.Td>{lastUsedAtMs ? <Moment ms={lastUsedAtMs} /> : t('sessions.endsSoon')}</Table.Td>
              </Table.Tr>
            ))}
          </TablePanel>
        )}
      </Loaded>
      <ConfirmDialog
        opened={isAsking}
        onClose={() => setAsking(false)}
        title={t('sessions.endTitle')}
        about={t('sessions.endAbout')}
        deed={t('menu.signOutEverywhere')}
        onConfirm={leave}
      />
    </Page>
  );
}
