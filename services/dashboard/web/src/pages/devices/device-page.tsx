import type { DeviceView } from '@gateway/contracts/console/views';
import { Anchor, Button, Group, SimpleGrid, Skeleton, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { Link, useParams } from '@tanstack/react-router';
import { ChevronLeft } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { disconnectDevice, useDevice } from '../../api/devices.js';
import { useMe } from '../../api/session.js';
import { ConfirmDialog } from '../../components/confirm-dialog.js';
import { Page } from '../../components/page.js';
import { Panel } from '../../components/panel.js';
import { Loaded } from '../../components/states/loaded.js';
import { DeviceFacts } from './device-facts.js';
import { LinkPanel } from './link-panel.js';

/** One device: how it is, whose account it has, and the way to link one. */
export function DevicePage() {
  const { device: id } = useParams({ from: '/inside/devices/$device' });
  const device = useDevice(id);
  const { t } = useTranslation();
  const isNew = device.data === null;
  return (
    <Stack>
      <Anchor component={Link} to="/devices" size="sm" maw={1160} mx="auto" w="100%">
        <Group gap={4} component="span">
          <ChevronLeft size={16} className="turns" aria-hidden /> {t('devices.title')}
        </Group>
      </Anchor>
      {isNew ? (
        <Page title={id}>
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <LinkPanel id={id} view={undefined} />
          </SimpleGrid>
        </Page>
      ) : (
        <Page
          title={<bdi>{device.data?.name ?? id}</bdi>}
          name={id}
          actions={device.data && <Actions view={device.data} />}
        >
          <Loaded query={device} skeleton={<Waiting />}>
            {(view) => view && <Known view={view} />}
          </Loaded>
        </Page>
      )}
    </Stack>
  );
}

function Known({ view }: { view: DeviceView }) {
  const mayLink = useMe().user.role !== 'viewer';
  const isLinking = view.link !== undefined || view.status === 'disconnected';
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
      {isLinking && mayLink && <LinkPanel id={view.id} view={view} />}
      <DeviceFacts view={view} />
    </SimpleGrid>
  );
}

function Actions({ view }: { view: DeviceView }) {
  const { t } = useTranslation();
  const [opened, { open, close }] = useDisclosure();
  const mayDisconnect = useMe().user.role !== 'viewer' && view.status !== 'disconnected' && !view.link;
  if (!mayDisconnect) return null;
  return (
    <>
      <Button variant="default" onClick={open}>
        {t('device.disconnect')}
      </Button>
      <ConfirmDialog
        opened={opened}
        onClose={close}
        title={t('device.disconnectTitle')}
        about={t('device.disconnectAbout')}
        deed={t('device.disconnect')}
        onConfirm={async () => {
          await disconnectDevice(view.id);
          notifications.show({ message: t('device.disconnected') });
        }}
      />
    </>
  );
}

function Waiting() {
  return (
    <Panel>
      <Stack>
        <Skeleton height={22} width="40%" />
        <Skeleton height={14} />
        <Skeleton height={14} width="70%" />
      </Stack>
    </Panel>
  );
}
