import { isUserName, USER_ROLES, type UserRole } from '@gateway/contracts/console/users';
import { Button, Modal, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { createUser, type UserLink } from '../../api/users.js';
import { Failure } from '../../components/states/failure.js';
import { LinkMade } from './link-made.js';

/** Makes a user, and shows the link that lets them in. */
export function NewUserDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation();
  const [made, setMade] = useState<UserLink>();
  return (
    <Modal
      opened={opened}
      onClose={onClose}
      size="lg"
      title={made ? t('users.link.title', { name: made.name }) : t('users.add')}
      // What is shown once is not closed by a click beside it.
      closeOnClickOutside={!made}
      onExitTransitionEnd={() => setMade(undefined)}
      closeButtonProps={{ 'aria-label': t('dialog.close') }}
    >
      {made ? <LinkMade link={made} onDone={onClose} /> : <NewUserForm onMade={setMade} />}
    </Modal>
  );
}

function NewUserForm({ onMade }: { onMade: (made: UserLink) => void }) {
  const { t } = useTranslation();
  const form = useForm({
    initialValues: { name: '', role: 'operator' as UserRole },
    validate: { name: (name) => (isUserName(name.trim().toLowerCase()) ? null : t('users.new.badName')) },
  });
  const { mutate, isPending, error } = useMutation({ mutationFn: createUser, onSuccess: onMade });
  return (
    <form onSubmit={form.onSubmit(({ name, role }) => mutate({ name: name.trim().toLowerCase(), role }))}>
      <Stack>
        <TextInput
          label={t('users.new.name')}
          description={t('users.new.nameAbout')}
          dir="ltr"
          data-autofocus
          autoCapitalize="none"
          spellCheck={false}
          {...form.getInputProps('name')}
        />
        <NativeSelect
          label={t('users.new.role')}
          data={USER_ROLES.map((role) => ({ value: role, label: t(`roles.${role}`) }))}
          {...form.getInputProps('role')}
        />
        <Text size="sm" c="dimmed">
          {t(`users.may.${form.values.role}`)}
        </Text>
        {error && <Failure error={error} />}
        <Button type="submit" loading={isPending}>
          {t('users.new.go')}
        </Button>
      </Stack>
    </form>
  );
}
