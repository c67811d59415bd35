import { Button, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';

const DEVICE_ID = /^[a-z0-9-]{1,40}$/;

/** Names a device; its page then shows the code to scan. The first one is the default device, which needs no name. */
export function NewDeviceDialog(props: { opened: boolean; onClose: () => void; taken: readonly string[] }) {
  const { t } = useTranslation();
  const { opened, onClose, taken } = props;
  const navigate = useNavigate();
  const form = useForm({
    initialValues: { id: '' },
    validate: { id: (id) => (DEVICE_ID.test(idOf(id, taken)) ? null : t('devices.new.badId')) },
  });
  const submit = form.onSubmit(({ id }) => {
    onClose();
    form.reset();
    void navigate({ to: '/devices/$device', params: { device: idOf(id, taken) } });
  });
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      title={t('devices.link')}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
    >
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label={t('devices.new.id')}
            description={t('devices.new.idAbout')}
            placeholder={idOf('', taken)}
            dir="ltr"
            data-autofocus
            autoCapitalize="none"
            spellCheck={false}
            {...form.getInputProps('id')}
          />
          <Text size="sm" c="dimmed">
            {t('devices.new.next')}
          </Text>
          <Button type="submit">{t('devices.new.go')}</Button>
        </Stack>
      </form>
    </Modal>
  );
}

/** What is typed, else the first free name. */
function idOf(typed: string, taken: readonly string[]): string {
  const id = typed.trim().toLowerCase();
  if (id !== '') return id;
  const names = ['default', ...Array.from({ length: taken.length + 1 }, (_, index) => `device-${index + 2}`)];
  return names.find((name) => !taken.includes(name)) ?? '';
}
