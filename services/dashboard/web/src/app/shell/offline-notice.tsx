import { Alert } from '@mantine/core';
import { useNetwork } from '@mantine/hooks';
import { useTranslation } from 'react-i18next';
import { queryClient } from '../../api/query-client.js';
import { useTimeText } from '../../components/moment.js';

/** That there is no network, and how old what is on the page is: it stays. */
export function OfflineNotice() {
  const { t } = useTranslation();
  const time = useTimeText();
  const { online } = useNetwork();
  if (online) return null;
  const shown = queryClient.getQueryCache().findAll({ type: 'active' });
  const times = shown.filter(({ queryKey: [kind] }) => kind !== 'me').map(({ state }) => state.dataUpdatedAt);
  const atMs = Math.max(0, ...times);
  return (
    <Alert color="yellow" variant="outline" py="xs" mb="md" role="status" c="var(--mantine-color-text)">
      {t('failure.offline')} {atMs > 0 && t('failure.asOf', { time: time(atMs) })}
    </Alert>
  );
}
