import { Anchor, Group, Skeleton, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useDevices } from '../../api/devices.js';
import { sayNumber } from '../../app/language.js';
import { Panel } from '../../components/panel.js';
import { Loaded } from '../../components/states/loaded.js';
import { StateMark, type Tone } from '../../components/states/state-mark.js';

const TONES = { connected: 'good', connecting: 'warn', disconnected: 'idle' } as const satisfies Record<string, Tone>;

/** How many devices are in which state. */
export function DeviceStates() {
  const { t } = useTranslation();
  const devices = useDevices();
  return (
    <Panel>
      <Stack gap="sm">
        <Title order={2} size="h4">
          <Anchor component={Link} to="/devices" inherit c="inherit">
            {t('devices.title')}
          </Anchor>
        </Title>
        <Loaded query={devices} skeleton={<Skeleton height={72} />}>
          {(all) => (
            <Stack gap="sm">
              {(['connected', 'connecting', 'disconnected'] as const).map((status) => (
                <Group key={status} justify="space-between">
                  <StateMark tone={TONES[status]}>{t(`devices.status.${status}`)}</StateMark>
                  <Text size="sm" className="figures">
                    {sayNumber(all.filter((device) => device.status === status).length)}
                  </Text>
                </Group>
              ))}
            </Stack>
          )}
        </Loaded>
      </Stack>
    </Panel>
  );
}
