import { deviceKeys } from '@gateway/contracts/redis-keys';
import { type Clock, sleep } from '@gateway/runtime/clock';
import type { Logger } from '@gateway/runtime/logs/logger';
import { isNotConfirmed } from '@gateway/runtime/redis/is-redis-away';
import { writeTogether } from '../core/confirming/write-together.js';
import { isNotBegun, LONGEST_REFUSAL_MS } from '../core/scripts/define-script.js';
import type { Store } from '../core/store.js';
import type { Ownership } from '../fleet/ownership.js';

/** Longer than Redis takes to choose another master and to tell of it: then replicas are away. */
const PATIENCE_MS = 20_000;
/** Of a device: hundreds of receipts may wait. */
const TELL_EVERY_MS = 60_000;
const toldAtMs = new WeakMap<Ownership, number>();
/** At first for a failover; each pause is twice as long as the one before. */
const AGAIN_MS = { first: 250, longest: 10_000 };

export interface KeepingDeps {
  store: Store;
  ownership: Ownership;
  clock: Clock;
  logger: Pick<Logger, 'warn'>;
  /** For tests. */
  pause?: (ms: number) => Promise<void>;
}

/**
 * Writes until replicas have it, as the network does not repeat what it was told has arrived. A master that is cut off may take a write
 * and lose it, so it is written again, and not only asked for again. While replicas are away this goes on for as long as they are: the
 * owner goes on, and another one could do no better. It ends with the ownership, as the step is fenced. What Redis refuses for a moment is
 * written again for ten seconds, as steps of the owner are: not all that is written here is one.
 * @param write safe to repeat; of any number of steps.
 */
export async function keepSurely<Result>(
  { store, ownership, clock, logger, pause = sleep }: KeepingDeps,
  write: () => Promise<Result>,
): Promise<Result> {
  const { received } = deviceKeys(store.space, ownership.address);
  const lateAtMs = clock.monotonicMs() + PATIENCE_MS;
  let isTold = false;
  let refusedSinceMs: number | undefined;
  for (let pauseMs = AGAIN_MS.first; ; pauseMs = Math.min(pauseMs * 2, AGAIN_MS.longest)) {
    const beganMs = clock.monotonicMs();
    try {
      return await writeTogether(store, received, write);
    } catch (thrown) {
      const isUnconfirmed = isNotConfirmed(thrown);
      refusedSinceMs = isUnconfirmed ? undefined : (refusedSinceMs ?? beganMs);
      const isPassing = isNotBegun(thrown) && clock.monotonicMs() - (refusedSinceMs ?? beganMs) < LONGEST_REFUSAL_MS;
      if (!isUnconfirmed && !isPassing) throw thrown;
      const nowMs = clock.monotonicMs();
      const isLate = nowMs >= lateAtMs;
      if (isLate && !isTold && nowMs - (toldAtMs.get(ownership) ?? Number.NEGATIVE_INFINITY) >= TELL_EVERY_MS) {
        toldAtMs.set(ownership, nowMs);
        logger.warn('replicas have not confirmed what arrived: the network is not told yet');
      }
      isTold ||= isLate;
    }
    await pause(pauseMs);
  }
}
