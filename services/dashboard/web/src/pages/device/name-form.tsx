import type { DeviceView } from '@gateway/contracts/console/views';
import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { nameDevice } from '../../api/devices.js';
import { FormBody } from '../../components/form-dialog.js';

/** What people call the device. */
export function NameForm({ view, onDone }: { view: DeviceView; onDone: () => void }) {
  const { t } = useTranslation();
  const form = useForm({
    initialValues: { name: view.name },
    validate: { name: (name) => (name.trim() === '' ? t('device.noName') : null) },
  });
  return (
    <FormBody
      form={form}
      deed={t('device.save')}
      onSave={({ name }) => nameDevice({ id: view.id, name: name.trim() })}
      onDone={onDone}
    >
      <TextInput
        label={t('device.displayName')}
        description={t('device.displayNameAbout')}
        dir="auto"
        maxLength={60}
        data-autofocus
        {...form.getInputProps('name')}
      />
    </FormBody>
  );
}
