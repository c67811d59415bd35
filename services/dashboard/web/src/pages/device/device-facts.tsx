import type { DeviceView } from '@gateway/contracts/console/views';
import { paceDurationMs } from '@gateway/contracts/devices/pace';
import { Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { nowMs } from '../../api/clock.js';
import { Fact, Facts } from '../../components/facts.js';
import { Moment, useTick } from '../../components/moment.js';
import { Panel } from '../../components/panel.js';
import { StateMark } from '../../components/states/state-mark.js';
import { toneOf, useReasonText } from '../devices/device-state-text.js';
import { RestrictionNote } from './restriction-note.js';

/** The state as a sentence, and what is known beside it. */
export function DeviceFacts({ view }: { view: DeviceView }) {
  const { t } = useTranslation();
  const reason = useReasonText()(view);
  const { id, status, phone, accountName, sinceMs, backlog, pace, hasOwnPace, restriction } = view;
  const { notBeforeMs, createdAtMs } = view;
  return (
    <Panel>
      <Stack gap="lg">
        <Stack gap={6}>
          <Title order={2} size="h4">
            <StateMark tone={toneOf(view)} pulses={status === 'connecting'}>
              {t(`devices.status.${status}`)}
            </StateMark>
          </Title>
          <Text size="sm" c="dimmed">
            {reason ?? t('device.fine')}
          </Text>
          {restriction && <RestrictionNote {...restriction} />}
        </Stack>
        <Facts>
          {accountName && accountName !== phone && (
            <Fact name={t('device.name')}>
              <bdi>{accountName}</bdi>
            </Fact>
          )}
          {phone && (
            <Fact name={t('device.phone')}>
              <span className="ltr figures">+{phone}</span>
            </Fact>
          )}
          {sinceMs && (
            <Fact name={t('device.since')}>
              <Moment ms={sinceMs} />
            </Fact>
          )}
          {notBeforeMs && notBeforeMs > nowMs() && (
            <Fact name={t('device.again')}>
              <Moment ms={notBeforeMs} />
            </Fact>
          )}
          <Fact name={t('devices.columns.waiting')}>
            <span className="figures">{t('devices.waiting', { count: backlog })}</span>
            <Finish view={view} />
          </Fact>
          <Fact name={t('device.pace')}>
            <span className="figures">
              {pace.messagesPerMinute === 0
                ? t('device.unpaced')
                : t('device.perMinute', { count: pace.messagesPerMinute })}
            </span>
            {!hasOwnPace && (
              <Text size="xs" c="dimmed">
                {t('device.commonPaceNote')}
              </Text>
            )}
          </Fact>
          <Fact name={t('device.id')}>
            <span className="ltr mono">{id}</span>
          </Fact>
          <Fact name={t('device.created')}>
            <Moment ms={createdAtMs} />
          </Fact>
        </Facts>
      </Stack>
    </Panel>
  );
}

/** When all that waits has gone out, if nothing is added and the device stays connected. */
function Finish({ view: { status, reason, backlog, pace } }: { view: DeviceView }) {
  const { t } = useTranslation();
  useTick(10_000);
  const leftMs = paceDurationMs(pace, backlog);
  if (status !== 'connected' || reason !== undefined || leftMs === 0) return null;
  return (
    <Text size="xs" c="dimmed">
      {t('device.finish')} <Moment ms={nowMs() + leftMs} />
    </Text>
  );
}
