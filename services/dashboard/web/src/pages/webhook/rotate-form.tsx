import { NativeSelect, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { rotateWebhook } from '../../api/webhooks.js';
import { FormBody } from '../../components/form-dialog.js';

const HOURS = ['24', '1', '72', '168', '0'] as const;

/** A new secret, while the former one goes on signing for a time. */
export function RotateForm({ id, onMade }: { id: string; onMade: (secret: string) => void }) {
  const { t } = useTranslation();
  const form = useForm({ initialValues: { hours: '24' } });
  return (
    <FormBody
      form={form}
      deed={t('webhooks.rotate')}
      onSave={async ({ hours }) => onMade(await rotateWebhook({ id, overlapHours: Number(hours) }))}
      onDone={() => {}}
    >
      <Text size="sm">{t('webhooks.rotateAbout')}</Text>
      <NativeSelect
        label={t('webhooks.overlap')}
        data={HOURS.map((hours) => ({
          value: hours,
          label: hours === '0' ? t('webhooks.noOverlap') : t('webhooks.hours', { count: Number(hours) }),
        }))}
        {...form.getInputProps('hours')}
      />
    </FormBody>
  );
}
