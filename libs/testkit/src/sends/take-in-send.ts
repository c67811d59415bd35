import type { SendTag } from '@gateway/contracts/ids';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { type TakenSend, takeInSends } from '@gateway/store/sends/take-in-sends';

/** Takes one send in. Throws `FencedError`, and `UnknownVersionError` for one of another version. */
export async function takeInSend(
  store: Store,
  ownership: Ownership,
  { tag, nowMs }: { tag: SendTag; nowMs: number },
): Promise<TakenSend | undefined> {
  const [taken] = await takeInSends(store, ownership, { sends: [{ tag, reads: 'any' }], nowMs });
  if (taken instanceof Error) throw taken;
  if (taken === 'large') throw new Error('any was to be read');
  return taken;
}
