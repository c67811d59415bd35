import type { WebhookView } from '@gateway/contracts/console/webhook-views';
import { Button, Menu, Modal } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Ellipsis, KeyRound, Pencil, Repeat, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../../api/session.js';
import { changeWebhook, deleteWebhook, pauseWebhook, resumeWebhook } from '../../api/webhooks.js';
import { ActionMenu } from '../../components/action-menu.js';
import { ConfirmDialog } from '../../components/confirm-dialog.js';
import { FormDialog } from '../../components/form-dialog.js';
import { useFailureText } from '../../components/states/failure.js';
import { SecretMade } from '../webhooks/secret-made.js';
import { WebhookForm } from '../webhooks/webhook-form.js';
import { ReplayForm } from './replay-form.js';
import { RotateForm } from './rotate-form.js';

type Asked = 'edit' | 'replay' | 'rotate' | 'delete';

/** What can be done with an endpoint, for those who may. */
export function WebhookActions({ view }: { view: WebhookView }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [asked, ask] = useState<Asked>();
  const [secret, setSecret] = useState<string>();
  const [isShown, setShown] = useState(false);
  const close = () => ask(undefined);
  if (useMe().user.role === 'viewer') return null;
  const { id, host } = view;
  const isReadable = host !== undefined;
  const remove = async () => {
    await deleteWebhook(id);
    notifications.show({ message: t('webhooks.deleted') });
    await navigate({ to: '/settings/webhooks' });
  };
  return (
    <>
      {isReadable && <PauseButton view={view} />}
      <More ask={ask} isReadable={isReadable} />
      <FormDialog title={t('webhooks.edit')} size="lg" opened={asked === 'edit'} onClose={close}>
        <WebhookForm
          view={view}
          deed={t('webhooks.save')}
          onSave={(wishes) => changeWebhook({ id, wishes })}
          onDone={close}
        />
      </FormDialog>
      <FormDialog title={t('webhooks.replay.title')} opened={asked === 'replay'} onClose={close}>
        <ReplayForm view={view} onDone={close} />
      </FormDialog>
      <FormDialog title={t('webhooks.rotate')} opened={asked === 'rotate'} onClose={close}>
        <RotateForm
          id={id}
          onMade={(made) => {
            close();
            setSecret(made);
            setShown(true);
          }}
        />
      </FormDialog>
      <Modal
        opened={isShown}
        onClose={() => setShown(false)}
        size="lg"
        title={t('webhooks.made.newSecret')}
        // What is shown once is not closed by a click beside it.
        closeOnClickOutside={false}
        onExitTransitionEnd={() => setSecret(undefined)}
        closeButtonProps={{ 'aria-label': t('dialog.close') }}
      >
        {secret !== undefined && <SecretMade id={id} secret={secret} onDone={() => setShown(false)} />}
      </Modal>
      <ConfirmDialog
        opened={asked === 'delete'}
        onClose={close}
        title={t('webhooks.deleteTitle', { host: host ?? id })}
        about={t('webhooks.deleteAbout')}
        deed={t('webhooks.delete')}
        onConfirm={remove}
      />
    </>
  );
}

function PauseButton({ view: { id, status } }: { view: WebhookView }) {
  const { t } = useTranslation();
  const textOf = useFailureText();
  const rests = status === 'paused' || status === 'disabled';
  const { mutate, isPending } = useMutation({
    mutationFn: () => (rests ? resumeWebhook(id) : pauseWebhook(id)),
    onError: (error) => notifications.show({ message: textOf(error), color: 'red' }),
  });
  return (
    <Button variant={rests ? 'filled' : 'default'} loading={isPending} onClick={() => mutate()}>
      {t(rests ? 'webhooks.resume' : 'webhooks.pause')}
    </Button>
  );
}

/** One that is not readable can only be deleted. */
function More({ ask, isReadable }: { ask: (what: Asked) => void; isReadable: boolean }) {
  const { t } = useTranslation();
  return (
    <ActionMenu
      label={t('webhooks.more')}
      icon={<Ellipsis size={18} />}
      button={{ variant: 'default', size: 36 }}
      width={220}
    >
      {isReadable && (
        <>
          <Menu.Item leftSection={<Pencil size={16} />} onClick={() => ask('edit')}>
            {t('webhooks.edit')}
          </Menu.Item>
          <Menu.Item leftSection={<Repeat size={16} />} onClick={() => ask('replay')}>
            {t('webhooks.replay.title')}
          </Menu.Item>
          <Menu.Item leftSection={<KeyRound size={16} />} onClick={() => ask('rotate')}>
            {t('webhooks.rotate')}
          </Menu.Item>
        </>
      )}
      <Menu.Item leftSection={<Trash2 size={16} />} onClick={() => ask('delete')}>
        {t('webhooks.delete')}
      </Menu.Item>
    </ActionMenu>
  );
}
