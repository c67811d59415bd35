import { setTimeout as delay } from 'node:timers/promises';

/** Where code gets its time from, so that tests can hand in another. */
export interface Clock {
  /** Wall time in ms since 1970. May jump: for records and people, never for deadlines. */
  nowMs(): number;
  /** Ms since some fixed moment. Only moves forward, and keeps moving while the wall clock is set: for deadlines. */
  monotonicMs(): number;
}

/** Of the clock of this machine; see `followRedisTime`. */
let aheadMs = 0;

/** From now on the wall time of `systemClock` is so much behind that of the machine. */
export function setClockAhead(ms: number): void {
  aheadMs = Math.round(ms);
}

export function clockAheadMs(): number {
  return aheadMs;
}

export const systemClock: Clock = {
  nowMs: () => Date.now() - aheadMs,
  monotonicMs: () => performance.now(),
};

/** Resolves after `ms`, or rejects with an `AbortError` as soon as `signal` is aborted. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, signal ? { signal } : {});
}

/** Whether it is over in that time. Rejects when it does so before. Each send asks several times: to make an `AbortSignal` and abort it takes 40 us. */
export function inTime(work: Promise<unknown>, ms: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms, false);
    work.then(() => resolve(true), reject).finally(() => clearTimeout(timer));
  });
}
