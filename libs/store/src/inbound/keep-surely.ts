import { deviceKeys } from '@gateway/contracts/redis-keys';
import { type Clock, sleep } from '@gateway/runtime/clock';
import { GatewayError } from '@gateway/runtime/errors';
import type { Store } from '../core/store.js';
import type { Ownership } from '../fleet/ownership.js';

/** Longer than Redis takes to choose another master and to tell of it. */
const PATIENCE_MS = 20_000;
const AGAIN_MS = 250;

/**
 * Writes until replicas have it, as the network does not repeat what it was told has arrived. A master that is cut off may take a write
 * and lose it, so it is written again, and not only asked for again. @param write safe to repeat.
 * @returns `isRepeat`: an earlier attempt may have changed what there was to change.
 */
export async function keepSurely<Result>(
  { store, ownership, clock }: { store: Store; ownership: Ownership; clock: Clock },
  write: () => Promise<Result>,
): Promise<{ result: Result; isRepeat: boolean }> {
  const { received } = deviceKeys(store.space, ownership.address);
  const untilMs = clock.monotonicMs() + PATIENCE_MS;
  for (let isRepeat = false; ; isRepeat = true) {
    try {
      const result = await write();
      await store.confirmWrites(received);
      return { result, isRepeat };
    } catch (thrown) {
      const mayComeTrue = thrown instanceof GatewayError && thrown.code === 'not_confirmed';
      if (!mayComeTrue || clock.monotonicMs() >= untilMs) throw thrown;
    }
    await sleep(AGAIN_MS);
  }
}
