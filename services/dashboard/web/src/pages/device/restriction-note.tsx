import type { DeviceView } from '@gateway/contracts/console/views';
import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { nowMs } from '../../api/clock.js';
import { Exact, useTick } from '../../components/moment.js';

/** What the network does not let the account do, and for how long. */
export function RestrictionNote({ kind, untilMs }: NonNullable<DeviceView['restriction']>) {
  const { t } = useTranslation();
  useTick(1_000);
  const leftMs = untilMs === undefined ? undefined : untilMs - nowMs();
  return (
    <Text size="sm">
      {t(`restrictions.${kind}`)}{' '}
      {leftMs !== undefined && leftMs > 0 && (
        <>
          {t('device.endsIn')}{' '}
          <span role="timer" className="ltr figures">
            {sayTime(leftMs)}
          </span>
          {' · '}
          <Exact ms={untilMs!} />
        </>
      )}
      {leftMs !== undefined && leftMs <= 0 && t('device.endsNow')}
    </Text>
  );
}

/** Hours, minutes and seconds: `49:05:09`. */
function sayTime(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  const parts = [Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, '0'));
  return [Math.floor(seconds / 3_600), ...parts].join(':');
}
