import { Tooltip } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useLiveState } from '../../api/use-live.js';
import { ANYHOW, useTick, useTimeText } from '../../components/moment.js';
import { StateMark, type Tone } from '../../components/states/state-mark.js';

const TONES = { live: 'good', connecting: 'warn', trouble: 'bad', off: 'idle' } as const satisfies Record<string, Tone>;

/** Whether what is on the page is how it is now, and since when it is not. */
export function LivePill() {
  const { t } = useTranslation();
  const time = useTimeText();
  const { status, heardAtMs } = useLiveState();
  useTick(5_000);
  if (status === 'off' && heardAtMs === undefined) return null;
  const since = heardAtMs === undefined ? '' : t('live.asOf', { time: time(heardAtMs) });
  return (
    <Tooltip label={`${t(`live.about.${status}`)} ${since}`} events={ANYHOW} multiline maw={260}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what the tooltip tells is told to those without a mouse, too. */}
      <output aria-live="polite" tabIndex={0}>
        <StateMark tone={TONES[status]} pulses={status === 'connecting'}>
          {t(`live.${status}`)}
        </StateMark>
      </output>
    </Tooltip>
  );
}
