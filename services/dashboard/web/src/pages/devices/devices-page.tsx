import type { DeviceView } from '@gateway/contracts/console/views';
import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Plus, Smartphone } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useDevices } from '../../api/devices.js';
import { useMe } from '../../api/session.js';
import { Page } from '../../components/page.js';
import { Listed } from '../../components/states/listed.js';
import { DeviceTable } from './device-table.js';
import { NewDeviceDialog } from './new-device-dialog.js';

/** All devices, as they are now. */
export function DevicesPage() {
  const { t } = useTranslation();
  const devices = useDevices();
  const [opened, { open, close }] = useDisclosure();
  const mayLink = useMe().user.role !== 'viewer';
  const link = mayLink && (
    <Button leftSection={<Plus size={16} />} onClick={open}>
      {t('devices.link')}
    </Button>
  );
  return (
    <Page title={t('devices.title')} about={t('devices.about')} actions={devices.data?.length ? link : undefined}>
      <Listed
        query={devices}
        empty={{
          icon: <Smartphone size={36} strokeWidth={1.4} />,
          title: t('devices.empty.title'),
          about: t('devices.empty.about'),
          action: link,
        }}
      >
        {(all) => <DeviceTable devices={all} />}
      </Listed>
      <NewDeviceDialog opened={opened} onClose={close} taken={idsOf(devices.data)} />
    </Page>
  );
}

function idsOf(devices: readonly DeviceView[] = []): readonly string[] {
  return devices.map(({ id }) => id);
}
