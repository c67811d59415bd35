import type { WebhookView } from '@gateway/contracts/console/webhook-views';
import { Checkbox, NativeSelect, SimpleGrid, Text, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useDevices } from '../../api/devices.js';
import { RequestFailure } from '../../api/request.js';
import { useWebhookTypes, type WebhookWishes } from '../../api/webhooks.js';
import { FormBody } from '../../components/form-dialog.js';
import { readHeaders } from './read-headers.js';

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
  const given = view?.devices ?? [];
  const form = useForm({
    initialValues: {
      url: view?.url ?? '',
      description: view?.description ?? '',
      which: view ? 'chosen' : 'usual',
      types: [...(view?.types ?? [])],
      device: given.join(','),
      content: view?.content ?? 'full',
      numbers: view?.numbers ?? 'full',
      headers: '',
      dropsHeaders: false,
    },
    validate: {
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
        <NativeSelect
          label={t('webhooks.columns.device')}
          data={[
            { value: '', label: t('webhooks.allDevices') },
            // As it is now; the console chooses one, programs may choose several.
            ...(given.length > 1 ? [{ value: given.join(','), label: given.join(', ') }] : []),
            ...(devices.data ?? []).map(({ id, name }) => ({
              value: id,
              label: name === id ? id : `${name} (${id})`,
            })),
          ]}
          {...form.getInputProps('device')}
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
    </FormBody>
  );
}

function TypeChoice(props: { value?: string[]; onChange?: (types: string[]) => void }) {
  const { t } = useTranslation();
  const types = useWebhookTypes();
  return (
    <Checkbox.Group label={t('webhooks.columns.types')} {...props}>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing={6} mt="xs">
        {(types.data ?? props.value ?? []).map((type) => (
          <Checkbox key={type} value={type} label={<span className="ltr mono">{type}</span>} />
        ))}
      </SimpleGrid>
    </Checkbox.Group>
  );
}

interface Values {
  url: string;
  description: string;
  which: string;
  types: readonly string[];
  device: string;
  content: string;
  numbers: string;
  headers: string;
  dropsHeaders: boolean;
}

/** An endpoint whose URL or headers are given has to pass its test again: what is as before is left out. */
function toWishes(values: Values, view: WebhookView | undefined): WebhookWishes {
  const { description, which, types, device, content, numbers, dropsHeaders } = values;
  const url = values.url.trim();
  const headers = readHeaders(values.headers) ?? {};
  return {
    ...(url !== view?.url && { url }),
    ...{ description: description.trim(), content, numbers },
    ...(which === 'chosen' && { types }),
    devices: device === '' ? null : device.split(','),
    ...((Object.keys(headers).length > 0 || dropsHeaders) && { headers }),
  };
}
