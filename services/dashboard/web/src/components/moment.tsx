import { Tooltip, VisuallyHidden } from '@mantine/core';
import { useEffect, useReducer } from 'react';
import { nowMs } from '../api/clock.js';
import { currentLocale } from '../app/language.js';

/** Time of day, with seconds. */
export function useTimeText(): (ms: number) => string {
  return (ms) => new Intl.DateTimeFormat(currentLocale(), { timeStyle: 'medium' }).format(ms);
}

/** Time of day without seconds, with the day of the week where one is not like another. */
export function useShortTimeText(): (ms: number, hasDay: boolean) => string {
  return (ms, hasDay) =>
    new Intl.DateTimeFormat(currentLocale(), {
      ...{ hour: '2-digit', minute: '2-digit' },
      ...(hasDay && { weekday: 'short' }),
    }).format(ms);
}

const UNITS: [Intl.RelativeTimeFormatUnit, ms: number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
];

function sayFromNow(ms: number): string {
  const distance = ms - nowMs();
  const [unit, size] = UNITS.find(([, each]) => Math.abs(distance) >= each) ?? ['second', 1_000];
  return new Intl.RelativeTimeFormat(currentLocale(), { numeric: 'auto' }).format(Math.round(distance / size), unit);
}

/** Date and time, to the second. */
export function Exact({ ms }: { ms: number }) {
  return (
    <time className="figures" dateTime={new Date(ms).toISOString()}>
      {sayExactly(ms)}
    </time>
  );
}

function sayExactly(ms: number): string {
  return new Intl.DateTimeFormat(currentLocale(), { dateStyle: 'medium', timeStyle: 'medium' }).format(ms);
}

/** A tooltip comes by a mouse, a finger or the keyboard. */
export const ANYHOW = { hover: true, focus: true, touch: true };

/** "3 minutes ago", with the exact time when it is pointed at; screen readers hear both. */
export function Moment({ ms }: { ms: number }) {
  useTick(10_000);
  return (
    <Tooltip label={sayExactly(ms)} events={ANYHOW}>
      <time className="figures" dateTime={new Date(ms).toISOString()}>
        {sayFromNow(ms)}
        <VisuallyHidden>, {sayExactly(ms)}</VisuallyHidden>
      </time>
    </Tooltip>
  );
}

/** Shows anew what depends on the time. */
export function useTick(everyMs: number): void {
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const timer = setInterval(again, everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
}
