import { CLOCKS_DIFFER_MS, type WebhookTold } from '../events/entry.js';
import { type WebhookAttempt, wasTaken } from './webhook.js';

/** What the failures of an endpoint in a row have led to; empty while there are none. */
export interface Breaker {
  failures?: number;
  sinceMs?: number;
  /** No request before. */
  nextAttemptMs?: number;
  /** Nor before that: the latest of what it asked for (`Retry-After`). */
  askedUntilMs?: number;
  /** How many of `TOLD_AFTER_MS` have been told. */
  told?: number;
  /** Of what is put aside, which says nothing of the endpoint: how often in a row it failed again, and nothing else was taken. */
  aside?: { failures: number; nextAttemptMs: number };
  /** How many refusals of what is put aside had no clock, since something was taken: its halves. */
  halves?: number;
  /** How many requests of what is put aside, and of a replay, came when their clocks began, before the endpoint began to fail with something else. */
  asides?: number;
  /** Something of a replay, which says nothing of the endpoint either, has failed since something was taken. The version before does not know it, and puts that aside. */
  failedReplay?: true;
}

export interface BreakerOutcome {
  status: 'active' | 'failing' | 'disabled';
  breaker: Breaker;
  /** What others are to be told of it. */
  tell?: WebhookTold;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** After the first failure, the second, ... and after each further one the last of them. */
export const DELAYS_MS = [5_000, 15_000, MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS];
/** Then something else is tried. Of what is put aside so many fail without a pause. */
export const MANY_FAILURES = 3;
const SPREAD = 0.2;
const LONGEST_WAIT_MS = HOUR_MS;
/** Its owner is told twice, long before the end. */
const TOLD_AFTER_MS = [15 * MINUTE_MS, 24 * HOUR_MS];
export const DISABLED_AFTER_MS = 72 * HOUR_MS;
const GONE = 410;

/**
 * One retry clock for all that waits for an endpoint: an outage of a day is a hundred requests, however much has happened, and after it
 * everything flows at once. An endpoint that asks for more time gets it, up to an hour; one that says that it is gone is believed.
 * @param random of 0 to 1: endpoints that failed at one moment do not come back at one moment.
 */
export function nextBreaker(
  before: Breaker,
  { attempt, retryAfterMs = 0 }: { attempt: Pick<WebhookAttempt, 'status'>; retryAfterMs?: number | undefined },
  { nowMs, random }: { nowMs: number; random: number },
): BreakerOutcome {
  const { failures = 0, told = 0 } = before;
  if (wasTaken(attempt)) return { status: 'active', breaker: {}, ...(told > 0 && { tell: 'recovered' }) };
  // The clock may have been set back.
  const sinceMs = Math.min(before.sinceMs ?? nowMs, nowMs);
  const failedMs = nowMs - sinceMs;
  // Not by time alone: nothing was tried while the gateway was down.
  const wasWarned = told === TOLD_AFTER_MS.length;
  if (attempt.status === GONE || (wasWarned && failedMs >= DISABLED_AFTER_MS)) {
    return { status: 'disabled', breaker: {}, tell: 'disabled' };
  }
  const due = warningsDue(failedMs);
  // Another request may have been asked for more time meanwhile.
  const formerMs = isOver(before.askedUntilMs, nowMs) ? 0 : before.askedUntilMs!;
  const askedUntilMs = Math.max(retryAfterMs > 0 ? nowMs + longestAsked(retryAfterMs) : 0, formerMs);
  const { halves, asides = failures === 0 ? asidesBefore(before) : 0 } = before;
  const breaker = {
    ...{ failures: failures + 1, sinceMs, told: Math.max(told, due) },
    nextAttemptMs: Math.max(nowMs + delayAfter(failures + 1, random), askedUntilMs),
    ...(askedUntilMs > 0 && { askedUntilMs }),
    ...(halves && { halves }),
    ...(asides > 0 && { asides }),
  };
  return { status: 'failing', breaker, ...(due > told && { tell: 'failing' }) };
}

/** Their clocks begin as that of the endpoint does. */
function asidesBefore({ aside, failedReplay }: Breaker): number {
  const ofAside = Math.min(aside?.failures ?? 0, MANY_FAILURES + DELAYS_MS.length);
  return ofAside + (failedReplay ? DELAYS_MS.length : 0);
}

/** As it is from now on where others are to be told that it has failed for long, though no request is due; `undefined`: they are not. */
export function warned(breaker: Breaker, nowMs: number): Breaker | undefined {
  const { sinceMs = nowMs, told = 0 } = breaker;
  const due = warningsDue(nowMs - sinceMs);
  return due > told ? { ...breaker, told: due } : undefined;
}

const warningsDue = (failedMs: number) => TOLD_AFTER_MS.filter((afterMs) => failedMs >= afterMs).length;

/** From then on a wait would be longer than any: its end was written down before a clock was set back. */
export const waitsUntilMs = (nowMs: number): number => nowMs + LONGEST_WAIT_MS + CLOCKS_DIFFER_MS;

/** Whether nothing waits any more for this time. */
export function isOver(untilMs: number | undefined, nowMs: number): boolean {
  return untilMs === undefined || untilMs <= nowMs || untilMs > waitsUntilMs(nowMs);
}

/** How much of the time that it asks for an endpoint gets. */
export const longestAsked = (retryAfterMs: number): number => Math.min(retryAfterMs, LONGEST_WAIT_MS);

function delayAfter(failures: number, random: number): number {
  const delayMs = DELAYS_MS[Math.min(failures, DELAYS_MS.length) - 1]!;
  return failures < DELAYS_MS.length ? delayMs : Math.round(delayMs * (1 - SPREAD + 2 * SPREAD * random));
}
