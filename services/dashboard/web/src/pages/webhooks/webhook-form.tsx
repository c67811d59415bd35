import type { WebhookView } from '@gateway/contracts/console/webhook-views';
import { Checkbox, MultiSelect, NativeSelect, SimpleGrid, Text, Textarea, TextInput } from '@mantine/core';
import '@mantine/core/styles/InlineInput.css';
import '@mantine/core/styles/Checkbox.css';
import '@mantine/core/styles/Pill.css';
import '@mantine/core/styles/PillsInput.css';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useDevices } from '../../api/devices.js';
import { RequestFailure } from '../../api/request.js';
import type { WebhookWishes } from '../../api/webhooks.js';
import { FormBody } from '../../components/form-dialog.js';
import { type MANNERS, MannerFields, mannersOf, useMannerRules } from './manner-fields.js';
import { readHeaders } from './read-headers.js';
import { TypeChoice } from './type-choice.js';

interface WebhookFormProps {
  /** As it is; without it a new one is made. */
  view?: WebhookView;
  deed: string;
  onSave: (wishes: WebhookWishes) => Promise<unknown>;
  onDone: () => void;
}

/** Where an endpoint is, and what it is told. One field has to be filled in: the URL. */
export function WebhookForm({ view, ...body }: WebhookFormProps) {
  const { t } = useTranslation();
  const devices = useDevices();
  const manners = useMannerRules();
  const form = useForm({
    initialValues: {
      url: view?.url ?? '',
      description: view?.description ?? '',
      which: view ? 'chosen' : 'usual',
      types: [...(view?.types ?? [])],
      devices: [...(view?.devices ?? [])],
      content: view?.content ?? 'full',
      numbers: view?.numbers ?? 'full',
      headers: '',
      dropsHeaders: false,
      ...mannersOf(view),
    },
    validate: {
      ...manners,
      url: (url) => (URL.canParse(url.trim()) ? null : t('webhooks.new.badUrl')),
      types: (types, { which }) => (which === 'chosen' && types.length === 0 ? t('webhooks.new.noType') : null),
      headers: (headers) => (readHeaders(headers) ? null : t('webhooks.new.badHeaders')),
    },
  });
  const save = (values: typeof form.values) =>
    body.onSave(toWishes(values, view)).catch((thrown: unknown) => {
      const refused = thrown instanceof RequestFailure ? thrown.details.map(({ path }) => path[0]) : [];
      if (refused.includes('url')) form.setFieldError('url', t('webhooks.new.refusedUrl'));
      if (refused.includes('headers')) form.setFieldError('headers', t('webhooks.new.refusedHeaders'));
      throw thrown;
    });
  return (
    <FormBody form={form} {...body} onSave={save}>
      <TextInput
        label={t('webhooks.new.url')}
        description={t(view ? 'webhooks.new.urlChanged' : 'webhooks.new.urlAbout')}
        placeholder="https://example.com/hooks/messages"
        {...{ dir: 'ltr', inputMode: 'url', autoCapitalize: 'none', spellCheck: false, 'data-autofocus': true }}
        {...form.getInputProps('url')}
      />
      <TextInput
        label={t('webhooks.new.description')}
        dir="auto"
        maxLength={200}
        {...form.getInputProps('description')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <NativeSelect
          label={t('webhooks.new.which')}
          data={['usual', 'chosen'].map((value) => ({ value, label: t(`webhooks.new.${value as 'usual'}`) }))}
          {...form.getInputProps('which')}
        />
        <MultiSelect
          label={t('webhooks.columns.devices')}
          placeholder={form.values.devices.length === 0 ? t('webhooks.allDevices') : ''}
          data={deviceNames(devices.data ?? [], form.values.devices)}
          nothingFoundMessage={t('webhooks.new.noDevice')}
          {...{ searchable: true, hidePickedOptions: true, limit: 100 }}
          {...form.getInputProps('devices')}
        />
        <NativeSelect
          label={t('webhooks.new.content')}
          data={['full', 'none'].map((value) => ({ value, label: t(`webhooks.content.${value as 'full'}`) }))}
          {...form.getInputProps('content')}
        />
        <NativeSelect
          label={t('webhooks.new.numbers')}
          data={['full', 'masked'].map((value) => ({ value, label: t(`webhooks.numbers.${value as 'full'}`) }))}
          {...form.getInputProps('numbers')}
        />
      </SimpleGrid>
      {form.values.which === 'usual' ? (
        <Text size="sm" c="dimmed">
          {t('webhooks.new.usualAbout')}
        </Text>
      ) : (
        <TypeChoice {...form.getInputProps('types')} />
      )}
      <Textarea
        label={t('webhooks.new.headers')}
        description={t('webhooks.new.headersAbout')}
        placeholder={view?.headers.length ? view.headers.map((name) => `${name}: …`).join('\n') : 'Authorization: …'}
        autosize
        minRows={1}
        {...{ dir: 'ltr', autoCapitalize: 'none', spellCheck: false }}
        {...form.getInputProps('headers')}
      />
      {view !== undefined && view.headers.length > 0 && form.values.headers.trim() === '' && (
        <Checkbox label={t('webhooks.new.dropHeaders')} {...form.getInputProps('dropsHeaders', { type: 'checkbox' })} />
      )}
      <MannerFields isNew={!view} fieldOf={(name) => form.getInputProps(name)} />
    </FormBody>
  );
}

/** Those that are chosen are among them, also when there is no such device any more. */
function deviceNames(devices: readonly { id: string; name: string }[], chosen: readonly string[]) {
  const gone = chosen.filter((id) => devices.every((device) => device.id !== id)).map((id) => ({ id, name: id }));
  return [...devices, ...gone].map(({ id, name }) => ({ value: id, label: name === id ? id : `${name} (${id})` }));
}

interface Values extends Record<(typeof MANNERS)[number], string> {
  url: string;
  description: string;
  which: string;
  types: readonly string[];
  devices: readonly string[];
  content: string;
  numbers: string;
  headers: string;
  dropsHeaders: boolean;
}

/** An endpoint whose URL or headers are given has to pass its test again: what is as before is left out. */
function toWishes(values: Values, view: WebhookView | undefined): WebhookWishes {
  const { description, which, types, devices, content, numbers, dropsHeaders, order } = values;
  const url = values.url.trim();
  const headers = readHeaders(values.headers) ?? {};
  return {
    ...(url !== view?.url && { url }),
    ...{ description: description.trim(), content, numbers, order },
    ...{ gatherSeconds: Number(values.gatherSeconds), concurrency: Number(values.concurrency) },
    ...(!view && { signature: values.signature }),
    ...(which === 'chosen' && { types }),
    devices: devices.length === 0 ? null : devices,
    ...((Object.keys(headers).length > 0 || dropsHeaders) && { headers }),
  };
}
