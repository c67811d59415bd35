import type { DeviceView } from '@gateway/contracts/console/views';
import { Anchor, Badge, Group, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { Link, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useDevice } from '../../api/devices.js';
import { useMe } from '../../api/session.js';
import { Announce } from '../../components/announce.js';
import { BackLink } from '../../components/back-link.js';
import { Page } from '../../components/page.js';
import { Panel } from '../../components/panel.js';
import { Loaded } from '../../components/states/loaded.js';
import { AccountPicture } from '../devices/account-picture.js';
import { useReasonText } from '../devices/device-state-text.js';
import { DeviceActions } from './device-actions.js';
import { DeviceFacts } from './device-facts.js';
import { LastChanges } from './last-changes.js';
import { LinkPanel } from './link/link-panel.js';

/** One device: how it is, whose account it has, and the way to link one. */
export function DevicePage() {
  const { device: id } = useParams({ from: '/inside/devices/$device' });
  const device = useDevice(id);
  const { t } = useTranslation();
  const isNew = device.data === null;
  return (
    <Stack>
      <BackLink to="/devices" label={t('devices.title')} />
      {isNew ? (
        <Page title={id} about={t('link.makesDevice')}>
          <SimpleGrid cols={{ base: 1, md: 2 }}>
            <LinkPanel id={id} view={undefined} />
          </SimpleGrid>
        </Page>
      ) : (
        <Page
          title={<Head id={id} view={device.data ?? undefined} />}
          name={id}
          actions={device.data && <DeviceActions view={device.data} />}
        >
          <Loaded query={device} skeleton={<Waiting />}>
            {(view) => view && <Known view={view} />}
          </Loaded>
        </Page>
      )}
    </Stack>
  );
}

function Head({ id, view }: { id: string; view: DeviceView | undefined }) {
  const { t } = useTranslation();
  return (
    <Group gap="sm" component="span" wrap="nowrap">
      {view && <AccountPicture view={view} size={44} />}
      <bdi style={{ overflowWrap: 'anywhere' }}>{view?.name ?? id}</bdi>
      {view?.isDefault && (
        <Badge size="sm" variant="default" fw={520} tt="none" style={{ flex: 'none' }}>
          {t('devices.default')}
        </Badge>
      )}
    </Group>
  );
}

function Known({ view }: { view: DeviceView }) {
  const { role } = useMe().user;
  const mayLink = role !== 'viewer';
  const { t } = useTranslation();
  const reason = useReasonText()(view);
  const isLinking = view.link !== undefined || view.status === 'disconnected';
  const [wasLinked, noteLink] = useState(false);
  if (view.link !== undefined && !wasLinked) noteLink(true);
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg" style={{ alignItems: 'start' }}>
      <Announce>{`${t(`devices.status.${view.status}`)}. ${reason ?? t('device.fine')}`}</Announce>
      {isLinking && mayLink && <LinkPanel id={view.id} view={view} />}
      {wasLinked && view.status === 'connected' && role === 'admin' && <NextStep />}
      <DeviceFacts view={view} />
      <LastChanges view={view} />
    </SimpleGrid>
  );
}

/** In place of the code that was scanned: on a phone the menu would be one tap more. */
function NextStep() {
  const { t } = useTranslation();
  return (
    <Panel>
      <Anchor component={Link} to="/settings/api" fw={560}>
        {t('overview.steps.token')}
      </Anchor>
      <Text size="sm" c="dimmed">
        {t('overview.steps.tokenAbout')}
      </Text>
    </Panel>
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
