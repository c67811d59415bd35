import { type Pace, paceDurationMs } from '@gateway/contracts/devices/pace';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { defineScript, number, text } from '../core/scripts/define-script.js';
import { words } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';
import type { Ownership } from '../fleet/ownership.js';

const takePaceStep = defineScript({
  name: 'take-pace',
  whenFull: 'runs',
  isFenced: true,
  keys: ['pace'],
  args: {
    ...{
      nowMs: number,
      evenGapMs: number,
      burst: number,
      furthestMs: number,
      aheadMs: number,
      lateMs: number,
      usedUntilMs: number,
    },
    ...{ unusedFromMs: text, unusedUntilMs: text, '...gaps': number },
  },
  reply: words,
});

/** Places in the pace of a device, for its next messages. */
export interface GivenPlaces {
  /** For each place when it may be used, in ms after it was asked for. */
  waitsMs: number[];
  /** When to ask for another one, in ms after that. */
  askAgainMs: number;
  /** The state of the pace before each place, and after the last: as Redis writes it. */
  dues: string[];
}

interface PaceRequest {
  pace: Pace;
  nowMs: number;
  /** At most so many places. */
  most: number;
  /** Places that may be used so many ms later are given now. */
  aheadMs: number;
  /** At least this is the state of the pace, as places were used later than they were given for. Default: they were not. */
  usedUntilMs?: number;
  /** The state before the first place that no message used, and after the last that was given. */
  unused?: { fromMs: string; untilMs: string } | undefined;
}

/** As far as the state of a pace can be ahead of the time: with a gap of twice the even one, where jitter is 1. */
export function furthestMs({ messagesPerMinute, burst }: Pace): number {
  return ((burst + 1) * 60_000) / messagesPerMinute;
}

/** So late a message may be at no cost: timers are, and each message of a fast pace would wait for all that the ones before were late. */
export function mostLateMs({ messagesPerMinute }: Pace): number {
  return Math.min(50, 30_000 / messagesPerMinute);
}

/** Asks the pace of a device for the places of several messages, which need not ask one by one then. Not for a device without a pace. */
export async function takePlaces(store: Store, ownership: Ownership, request: PaceRequest): Promise<GivenPlaces> {
  const { pace, nowMs, most, aheadMs, usedUntilMs = 0, unused } = request;
  const { burst, jitter } = pace;
  const evenGapMs = 60_000 / pace.messagesPerMinute;
  const dues = await takePaceStep(store, ownership, {
    ...{ pace: deviceKeys(store.space, ownership.address).pace, nowMs, evenGapMs, burst, aheadMs, usedUntilMs },
    lateMs: mostLateMs(pace),
    furthestMs: furthestMs(pace),
    unusedFromMs: unused?.fromMs ?? '',
    unusedUntilMs: unused?.untilMs ?? '',
    // Jitter varies each gap both ways, so that the rate stays what was asked for.
    gaps: Array.from({ length: most }, () => evenGapMs * (1 + jitter * (Math.random() * 2 - 1))),
  });
  const waitsMs = dues.map((due) => Number(due) - (burst - 1) * evenGapMs - nowMs);
  return { dues, waitsMs: waitsMs.slice(0, -1), askAgainMs: waitsMs.at(-1)! - aheadMs };
}

/** How long the next message waits for the pace, 0 when it does not. Asks for nothing. */
export async function readPaceWaitMs(
  store: Store,
  address: DeviceAddress,
  { pace, nowMs }: { pace: Pace; nowMs: number },
): Promise<number> {
  if (pace.messagesPerMinute === 0) return 0;
  const dueMs = Number((await store.redis.hget(deviceKeys(store.space, address).pace, 'dueMs')) ?? 0);
  return Math.max(0, dueMs - paceDurationMs(pace, pace.burst - 1) - nowMs);
}
