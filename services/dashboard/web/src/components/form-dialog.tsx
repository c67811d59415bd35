import { Button, Modal, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Failure } from './states/failure.js';

interface FormDialogProps {
  title: string;
  size?: 'lg';
  opened: boolean;
  onClose: () => void;
  /** A form, which is made anew each time that the dialog opens. */
  children: ReactNode;
}

/** A dialog with a form. */
export function FormDialog({ children, ...modal }: FormDialogProps) {
  const { t } = useTranslation();
  return (
    <Modal {...modal} closeButtonProps={{ 'aria-label': t('dialog.close') }}>
      {children}
    </Modal>
  );
}

interface FormBodyProps<Values> {
  /** Of Mantine's form: checks, and hands on what was entered. */
  form: { onSubmit: (handle: (values: Values) => void) => (event?: FormEvent<HTMLFormElement>) => void };
  /** What the button says. */
  deed: string;
  /** It stays as it is, and says why, when this fails. */
  onSave: (values: Values) => Promise<unknown>;
  onDone: () => void;
  children: ReactNode;
}

/** The fields of a form, why it was not saved, and its button. */
export function FormBody<Values>({ form, deed, onSave, onDone, children }: FormBodyProps<Values>) {
  const { mutate, isPending, error } = useMutation({ mutationFn: onSave, onSuccess: onDone });
  return (
    <form onSubmit={form.onSubmit((values) => mutate(values))}>
      <Stack>
        {children}
        {error && <Failure error={error} />}
        <Button type="submit" loading={isPending}>
          {deed}
        </Button>
      </Stack>
    </form>
  );
}
