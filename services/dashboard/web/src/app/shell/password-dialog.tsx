import { Button, Modal, Stack, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { setPassword, useMe } from '../../api/session.js';
import { PasswordField } from '../../components/password-field.js';
import { Failure } from '../../components/states/failure.js';

const LEAST = 10;

/** A password, for the first time or in place of another one. */
export function PasswordDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation();
  const { hasPassword } = useMe().user;
  const form = useForm({
    initialValues: { former: '', password: '' },
    validate: { password: (value) => (value.length < LEAST ? t('password.tooShort', { count: LEAST }) : null) },
  });
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: setPassword,
    onSuccess: () => {
      notifications.show({ message: t('password.done') });
      close();
    },
  });
  const close = () => {
    form.reset();
    reset();
    onClose();
  };
  const submit = form.onSubmit(({ password, former }) => mutate({ password, ...(former !== '' && { former }) }));
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={hasPassword ? t('password.change') : t('password.set')}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
    >
      <form onSubmit={submit}>
        <Stack>
          <Text size="sm" c="dimmed">
            {t('password.about')}
          </Text>
          {hasPassword && (
            <PasswordField
              label={t('password.former')}
              description={t('password.formerAbout')}
              autoComplete="current-password"
              {...form.getInputProps('former')}
            />
          )}
          <PasswordField
            label={t('password.new')}
            autoComplete="new-password"
            data-autofocus
            {...form.getInputProps('password')}
          />
          {error && <Failure error={error} />}
          <Button type="submit" loading={isPending}>
            {t('password.save')}
          </Button>
        </Stack>
      </form>
    </Modal>
  );
}
