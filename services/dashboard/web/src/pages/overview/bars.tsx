import type { Overview } from '@gateway/contracts/console/overview';
import { Group, Text, VisuallyHidden } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useShortTimeText } from '../../components/moment.js';
import classes from './activity.module.css';

type Bar = Overview['bars'][number];

/** Two rows of bars: recipients by outcome, and below them the time to the ack. A table says the same to those who cannot see them. */
export function Bars({ bars, hours }: Pick<Overview, 'bars' | 'hours'>) {
  const { t } = useTranslation();
  const timeOf = useShortTimeText();
  const [at, setAt] = useState<number>();
  const most = Math.max(1, ...bars.map(({ sent, failed }) => sent + failed));
  const slowest = Math.max(1, ...bars.map(ackOf));
  const shown = at === undefined ? undefined : bars[at];
  const time = (bar: Bar) => timeOf(bar.atMs, hours > 24);
  const says = (bar: Bar) =>
    t('overview.bar', { sent: bar.sent, failed: bar.failed, seconds: (ackOf(bar) / 1000).toFixed(1) });
  return (
    <div>
      <div aria-hidden onPointerLeave={() => setAt(undefined)}>
        <div className={classes.bars}>
          {bars.map(({ atMs, sent, failed }, index) => (
            <div key={atMs} className={classes.bar} onPointerEnter={() => setAt(index)}>
              <div className={classes.failed} style={{ height: share(failed, most) }} />
              <div className={classes.sent} style={{ height: share(sent, most) }} />
            </div>
          ))}
        </div>
        <div className={classes.acks}>
          {bars.map((bar, index) => (
            <div key={bar.atMs} className={classes.bar} onPointerEnter={() => setAt(index)}>
              <div className={classes.ack} style={{ height: share(ackOf(bar), slowest) }} />
            </div>
          ))}
        </div>
      </div>
      <Group justify="space-between" aria-hidden mih={22} wrap="nowrap">
        {shown ? (
          <Text size="xs" className="figures">
            {time(shown)} · {says(shown)}
          </Text>
        ) : (
          [bars[0], bars.at(-1)].map(
            (bar) =>
              bar && (
                <Text key={bar.atMs} size="xs" c="dimmed" className="figures">
                  {time(bar)}
                </Text>
              ),
          )
        )}
      </Group>
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

/** On average, in ms. */
function ackOf({ ackMs, sent }: Bar): number {
  return sent === 0 ? 0 : ackMs / sent;
}

function share(part: number, whole: number): string {
  return `${(100 * part) / whole}%`;
}
