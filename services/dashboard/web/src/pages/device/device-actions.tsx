import type { DeviceView } from '@gateway/contracts/console/views';
import { Button, Menu } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { Ellipsis, Gauge, Pencil, Star, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { disconnectDevice, makeDefault, removeDevice } from '../../api/devices.js';
import { useMe } from '../../api/session.js';
import { ActionMenu } from '../../components/action-menu.js';
import { ConfirmDialog } from '../../components/confirm-dialog.js';
import { FormDialog } from '../../components/form-dialog.js';
import { useFailureText } from '../../components/states/failure.js';
import { NameForm } from './name-form.js';
import { PaceForm } from './pace-form.js';

type Asked = 'disconnect' | 'name' | 'pace' | 'remove';

/** What can be done with a device, for those who may. */
export function DeviceActions({ view }: { view: DeviceView }) {
  const { t } = useTranslation();
  const navigate = useNavigate();
  const [asked, ask] = useState<Asked>();
  const close = () => ask(undefined);
  if (useMe().user.role === 'viewer') return null;
  const isIdle = view.status === 'disconnected' && !view.link;
  const remove = async () => {
    await removeDevice(view.id);
    notifications.show({ message: t('device.removed') });
    await navigate({ to: '/devices' });
  };
  const disconnect = async () => {
    await disconnectDevice(view.id);
    notifications.show({ message: t('device.disconnected') });
  };
  return (
    <>
      {view.status === 'connected' && (
        <Button renderRoot={(props) => <Link {...props} to="/messages/new" search={{ device: view.id }} />}>
          {t('compose.title')}
        </Button>
      )}
      {!isIdle && !view.link && (
        <Button variant="default" onClick={() => ask('disconnect')}>
          {t('device.disconnect')}
        </Button>
      )}
      <More view={view} isIdle={isIdle} ask={ask} />
      <FormDialog title={t('device.rename')} opened={asked === 'name'} onClose={close}>
        <NameForm view={view} onDone={close} />
      </FormDialog>
      <FormDialog title={t('device.changePace')} opened={asked === 'pace'} onClose={close}>
        <PaceForm view={view} onDone={close} />
      </FormDialog>
      <ConfirmDialog
        opened={asked === 'disconnect'}
        onClose={close}
        title={t('device.disconnectTitle')}
        about={t('device.disconnectAbout')}
        deed={t('device.disconnect')}
        onConfirm={disconnect}
      />
      <ConfirmDialog
        opened={asked === 'remove'}
        onClose={close}
        title={t('device.removeTitle')}
        about={t('device.removeAbout')}
        deed={t('device.remove')}
        onConfirm={remove}
      />
    </>
  );
}

function More({ view, isIdle, ask }: { view: DeviceView; isIdle: boolean; ask: (what: Asked) => void }) {
  const { t } = useTranslation();
  const textOf = useFailureText();
  const preferred = useMutation({
    mutationFn: makeDefault,
    onSuccess: () => notifications.show({ message: t('device.defaultMade') }),
    onError: (error) => notifications.show({ message: textOf(error), color: 'red' }),
  });
  return (
    <ActionMenu
      label={t('device.more')}
      icon={<Ellipsis size={18} />}
      button={{ variant: 'default', size: 36, loading: preferred.isPending }}
      width={220}
    >
      <Menu.Item leftSection={<Pencil size={16} />} onClick={() => ask('name')}>
        {t('device.rename')}
      </Menu.Item>
      <Menu.Item leftSection={<Gauge size={16} />} onClick={() => ask('pace')}>
        {t('device.changePace')}
      </Menu.Item>
      {!view.isDefault && (
        <Menu.Item leftSection={<Star size={16} />} onClick={() => preferred.mutate(view.id)}>
          {t('device.makeDefault')}
        </Menu.Item>
      )}
      {isIdle && (
        <Menu.Item leftSection={<Trash2 size={16} />} onClick={() => ask('remove')}>
          {t('device.remove')}
        </Menu.Item>
      )}
    </ActionMenu>
  );
}
