import type { ApiTokenScope } from '@gateway/contracts/api-token';
import { Button, Checkbox, NativeSelect, SimpleGrid, Stack, TextInput } from '@mantine/core';
import '@mantine/core/styles/InlineInput.css';
import '@mantine/core/styles/Checkbox.css';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useDevices } from '../../api/devices.js';
import { createToken, type MadeToken } from '../../api/tokens.js';
import { Failure } from '../../components/states/failure.js';

/** What a program that sends needs; the others are for those who choose them. */
const USUAL = ['connect', 'send', 'otp', 'read', 'opt-outs'] as const satisfies ApiTokenScope[];
const SCOPES = [...USUAL, 'events', 'webhooks', 'admin'] as const satisfies ApiTokenScope[];
const DAYS = ['', '7', '30', '90', '365'] as const;

interface NewTokenFormProps {
  /** The first one has a name already, for those who only want to try it. */
  isFirst: boolean;
  onMade: (made: MadeToken) => void;
}

/** One field has to be filled in: the name. */
export function NewTokenForm({ isFirst, onMade }: NewTokenFormProps) {
  const { t } = useTranslation();
  const devices = useDevices();
  const form = useForm({
    initialValues: {
      ...{ name: isFirst ? t('tokens.new.first') : '', device: '', days: '' },
      scopes: [...USUAL] as string[],
    },
    validate: {
      name: (name) => (name.trim() === '' ? t('tokens.new.noName') : null),
      scopes: (scopes) => (scopes.length === 0 ? t('tokens.new.noScope') : null),
    },
  });
  const { mutate, isPending, error } = useMutation({ mutationFn: createToken, onSuccess: onMade });
  const submit = form.onSubmit(({ name, device, days, scopes }) =>
    mutate({
      ...{ name: name.trim(), scopes: scopes as ApiTokenScope[] },
      ...(device !== '' && { device }),
      ...(days !== '' && { expiresInDays: Number(days) }),
    }),
  );
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('tokens.new.name')}
          description={t('tokens.new.nameAbout')}
          maxLength={100}
          data-autofocus
          {...form.getInputProps('name')}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <NativeSelect
            label={t('tokens.new.device')}
            data={[
              { value: '', label: t('tokens.anyDevice') },
              ...(devices.data ?? []).map(({ id, name }) => ({
                value: id,
                label: name === id ? id : `${name} (${id})`,
              })),
            ]}
            {...form.getInputProps('device')}
          />
          <NativeSelect
            label={t('tokens.new.expires')}
            data={DAYS.map((days) => ({
              value: days,
              label: days === '' ? t('tokens.never') : t('tokens.new.days', { count: Number(days) }),
            }))}
            {...form.getInputProps('days')}
          />
        </SimpleGrid>
        <Checkbox.Group label={t('tokens.new.scopes')} {...form.getInputProps('scopes')}>
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" mt="xs">
            {SCOPES.map((scope) => (
              <Checkbox key={scope} value={scope} label={t(`tokens.scopes.${scope}`)} />
            ))}
          </SimpleGrid>
        </Checkbox.Group>
        {error && <Failure error={error} />}
        <Button type="submit" loading={isPending}>
          {t('tokens.create')}
        </Button>
      </Stack>
    </form>
  );
}
