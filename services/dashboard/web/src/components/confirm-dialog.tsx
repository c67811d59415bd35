import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Failure } from './states/failure.js';

interface ConfirmDialogProps {
  opened: boolean;
  onClose: () => void;
  title: string;
  /** What will be, and what cannot be undone. */
  about: string;
  /** What the button says: the deed, not "yes". */
  deed: string;
  onConfirm: () => Promise<unknown>;
}

/** Asks before something that cannot be undone. It stays open, and says why, if that fails. */
export function ConfirmDialog({ opened, onClose, title, about, deed, onConfirm }: ConfirmDialogProps) {
  const { t } = useTranslation();
  const { mutate, isPending, error, reset } = useMutation({ mutationFn: onConfirm, onSuccess: () => close() });
  const close = () => {
    reset();
    onClose();
  };
  return (
    <Modal opened={opened} onClose={close} title={title} closeButtonProps={{ 'aria-label': t('dialog.close') }}>
      <Stack>
        <Text size="sm">{about}</Text>
        {error && <Failure error={error} />}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={close} data-autofocus>
            {t('dialog.cancel')}
          </Button>
          <Button color="red.8" loading={isPending} onClick={() => mutate()}>
            {deed}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
