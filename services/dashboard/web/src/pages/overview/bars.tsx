import type { Overview } from '@gateway/contracts/console/overview';
import { Group, Text, VisuallyHidden } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { sayNumber } from '../../app/language.js';
import { useShortTimeText } from '../../components/moment.js';
import classes from './activity.module.css';

type Bar = Overview['bars'][number];

/** Two rows of bars: recipients by outcome, and below them the time to the ack. A table says the same to those who cannot see them. */
export function Bars({ bars, hours }: Pick<Overview, 'bars' | 'hours'>) {
  const { t } = useTranslation();
  const timeOf = useShortTimeText();
  const [at, setAt] = useState<number>();
  const most = roundUp(Math.max(1, ...bars.map(({ sent, failed }) => sent + failed)));
  const slowest = roundUp(Math.max(1, ...bars.map(ackOf)));
  const shown = at === undefined ? undefined : bars[at];
  const time = (bar: Bar) => timeOf(bar.atMs, hours > 24);
  const says = (bar: Bar) =>
    t('overview.bar', { sent: bar.sent, failed: bar.failed, seconds: (ackOf(bar) / 1000).toFixed(1) });
  return (
    <div>
      <Group gap="md" mb="sm" aria-hidden>
        {(['sent', 'failed', 'ack'] as const).map((kind) => (
          <Group key={kind} gap={6} wrap="nowrap">
            <span className={`${classes.swatch} ${classes[kind]}`} />
            <Text size="xs" c="dimmed">
              {t(`overview.legend.${kind}`)}
            </Text>
          </Group>
        ))}
      </Group>
      <div className={classes.chart} aria-hidden onPointerLeave={() => setAt(undefined)}>
        <div className={classes.scale}>
          <span>{sayNumber(most)}</span>
          <span>{most > 1 && sayNumber(most / 2)}</span>
          <span>0</span>
        </div>
        <div className={classes.bars}>
          {bars.map(({ atMs, sent, failed }, index) => (
            <div key={atMs} className={classes.bar} onPointerEnter={() => setAt(index)}>
              <div className={classes.failed} style={{ height: share(failed, most) }} />
              <div className={classes.sent} style={{ height: share(sent, most) }} />
            </div>
          ))}
        </div>
        <div className={classes.scale}>
          <span>{slowest > 1 && t('overview.seconds', { seconds: sayNumber(slowest / 1000) })}</span>
        </div>
        <div className={classes.acks}>
          {bars.map((bar, index) => (
            <div key={bar.atMs} className={classes.bar} onPointerEnter={() => setAt(index)}>
              <div className={classes.ack} style={{ height: share(ackOf(bar), slowest) }} />
            </div>
          ))}
        </div>
        <div className={classes.times}>
          {shown ? (
            <span className={classes.shown}>
              {time(shown)} · {says(shown)}
            </span>
          ) : (
            ticksOf(bars).map((bar) => <span key={bar.atMs}>{time(bar)}</span>)
          )}
        </div>
      </div>
      <VisuallyHidden>
        <table>
          <caption>{t('overview.bars')}</caption>
          <tbody>
            {bars
              .filter(({ sent, failed }) => sent + failed > 0)
              .map((bar) => (
                <tr key={bar.atMs}>
                  <th scope="row">{time(bar)}</th>
                  <td>{says(bar)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </VisuallyHidden>
    </div>
  );
}

/** To what is easy to read: 1, 2 or 5, with zeros behind it. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 2, 5, 10].find((step) => step * power >= value)!;
}

/** Those whose times are written below: the first, the last, and three between them. */
function ticksOf(bars: readonly Bar[]): Bar[] {
  const places = [0, 0.25, 0.5, 0.75, 1].map((part) => Math.round(part * (bars.length - 1)));
  return [...new Set(places)].flatMap((place) => bars[place] ?? []);
}

/** On average, in ms. */
function ackOf({ ackMs, sent }: Bar): number {
  return sent === 0 ? 0 : ackMs / sent;
}

function share(part: number, whole: number): string {
  return `${(100 * part) / whole}%`;
}
