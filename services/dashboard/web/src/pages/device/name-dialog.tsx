import type { DeviceView } from '@gateway/contracts/console/views';
import { Button, Modal, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { nameDevice } from '../../api/devices.js';
import { Failure } from '../../components/states/failure.js';

interface NameDialogProps {
  view: DeviceView;
  opened: boolean;
  onClose: () => void;
}

/** What people call the device. */
export function NameDialog({ view, opened, onClose }: NameDialogProps) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('device.rename')}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
    >
      <NameForm view={view} onDone={onClose} />
    </Modal>
  );
}

/** Made anew each time that the dialog opens. */
function NameForm({ view, onDone }: { view: DeviceView; onDone: () => void }) {
  const { t } = useTranslation();
  const form = useForm({
    initialValues: { name: view.name },
    validate: { name: (name) => (name.trim() === '' ? t('device.noName') : null) },
  });
  const { mutate, isPending, error } = useMutation({ mutationFn: nameDevice, onSuccess: onDone });
  return (
    <form onSubmit={form.onSubmit(({ name }) => mutate({ id: view.id, name: name.trim() }))}>
      <Stack>
        <TextInput
          label={t('device.displayName')}
          description={t('device.displayNameAbout')}
          dir="auto"
          maxLength={60}
          data-autofocus
          {...form.getInputProps('name')}
        />
        {error && <Failure error={error} />}
        <Button type="submit" loading={isPending}>
          {t('device.save')}
        </Button>
      </Stack>
    </form>
  );
}
