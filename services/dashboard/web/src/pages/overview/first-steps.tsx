import type { Overview } from '@gateway/contracts/console/overview';
import { Anchor, Group, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { CircleCheck, CircleDashed } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useDevices } from '../../api/devices.js';
import { useMe } from '../../api/session.js';
import { Panel } from '../../components/panel.js';

/** Three steps, each of which is done when the data say so; nothing when all are. */
export function FirstSteps({ steps: { hasToken, hasSent } }: { steps: Overview['steps'] }) {
  const { t } = useTranslation();
  const { role } = useMe().user;
  const devices = useDevices().data ?? [];
  // Also while no sender runs: what was sent once was sent from a linked account.
  const hasDevice =
    hasSent || devices.some(({ status, link }) => status === 'connected' || (status === 'connecting' && !link));
  if ((hasDevice && hasToken && hasSent) || role === 'viewer') return null;
  const first = devices[0]?.id ?? 'default';
  return (
    <Panel>
      <Stack gap="md">
        <Title order={2} size="h4">
          {t('overview.start')}
        </Title>
        <Step isDone={hasDevice} about={t('overview.steps.deviceAbout')}>
          <Anchor component={Link} to={`/devices/${first}`}>
            {t('overview.steps.device')}
          </Anchor>
        </Step>
        <Step isDone={hasToken} about={t('overview.steps.tokenAbout')}>
          {role === 'admin' ? (
            <Anchor component={Link} to="/settings/api">
              {t('overview.steps.token')}
            </Anchor>
          ) : (
            t('overview.steps.token')
          )}
        </Step>
        <Step isDone={hasSent} about={t('overview.steps.sendAbout')}>
          <Anchor component={Link} to="/messages/new">
            {t('overview.steps.send')}
          </Anchor>
        </Step>
      </Stack>
    </Panel>
  );
}

function Step({ isDone, about, children }: { isDone: boolean; about: string; children: ReactNode }) {
  const { t } = useTranslation();
  const Icon = isDone ? CircleCheck : CircleDashed;
  return (
    <Group gap="sm" wrap="nowrap" align="flex-start">
      <Icon
        size={20}
        color={isDone ? 'var(--good)' : 'var(--idle)'}
        style={{ flex: 'none' }}
        role="img"
        aria-label={isDone ? t('overview.done') : t('overview.open')}
      />
      <div>
        <Text size="sm" fw={560} component="div">
          {children}
        </Text>
        <Text size="sm" c="dimmed">
          {about}
        </Text>
      </div>
    </Group>
  );
}
