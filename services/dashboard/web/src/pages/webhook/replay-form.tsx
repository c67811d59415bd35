import type { WebhookView } from '@gateway/contracts/console/webhook-views';
import { SimpleGrid, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useTranslation } from 'react-i18next';
import { nowMs } from '../../api/clock.js';
import { replayWebhook } from '../../api/webhooks.js';
import { FormBody } from '../../components/form-dialog.js';

const HOUR_MS = 3_600_000;

/** Tells again what happened from one time until another. At first that is the time in which the endpoint failed, or an hour. */
export function ReplayForm({ view, onDone }: { view: WebhookView; onDone: () => void }) {
  const { t } = useTranslation();
  const form = useForm({
    initialValues: { from: toLocal(view.failingSinceMs ?? nowMs() - HOUR_MS), until: '' },
    validate: {
      from: (from) => (Date.parse(from) < nowMs() ? null : t('webhooks.replay.badFrom')),
      until: (until, { from }) =>
        until === '' || Date.parse(until) > Date.parse(from) ? null : t('webhooks.replay.badUntil'),
    },
  });
  const save = async ({ from, until }: typeof form.values) => {
    const times = { after: toIso(from), ...(until !== '' && { before: toIso(until) }) };
    await replayWebhook({ id: view.id, what: times });
    notifications.show({ message: t('webhooks.replay.done') });
  };
  const time = (name: 'from' | 'until') => (
    <TextInput type="datetime-local" label={t(`webhooks.replay.${name}`)} dir="ltr" {...form.getInputProps(name)} />
  );
  return (
    <FormBody form={form} deed={t('webhooks.replay.title')} onSave={save} onDone={onDone}>
      <Text size="sm">{t('webhooks.replay.about')}</Text>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        {time('from')}
        {time('until')}
      </SimpleGrid>
      <Text size="xs" c="dimmed">
        {t('webhooks.replay.zone', { zone: new Intl.DateTimeFormat().resolvedOptions().timeZone })}
      </Text>
    </FormBody>
  );
}

const toIso = (local: string) => new Date(local).toISOString();

/** As such a field has it: the time of this browser, to the minute. */
function toLocal(ms: number): string {
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
