import type { Pace } from '@gateway/contracts/devices/pace';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { takePlaces } from '@gateway/store/sends/pace';

/** Takes a place for one message: 0 to go ahead, else the ms to wait before asking again. */
export async function takePace(
  store: Store,
  ownership: Ownership,
  { pace, nowMs }: { pace: Pace; nowMs: number },
): Promise<number> {
  const { waitsMs, askAgainMs } = await takePlaces(store, ownership, { pace, nowMs, most: 1, aheadMs: 0 });
  return waitsMs.length > 0 ? 0 : Math.ceil(askAgainMs);
}
