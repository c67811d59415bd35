import { deviceKeys } from '@gateway/contracts/redis-keys';
import { FencedError } from '@gateway/runtime/errors';
import type { Store } from '../../core/store.js';
import type { Lease } from '../../fleet/leases.js';

const WINDOW_MS = 10 * 60_000;
const TOO_OFTEN = 3;

/** How long no one here logs in after another client has taken the place of a device. */
export const REPLACED_PAUSE_MS = 10_000;

/**
 * Counts how often another client has taken the place of a device whose lease is ours: someone outside uses its keys.
 * Taking it back by reflex would be a fight without an end. Counted in Redis, for it is the same fight whichever process
 * holds the device.
 * @returns `tooOften`: the third within ten minutes. The device is to be parked, and its count begins anew.
 * @throws `FencedError` for a stale owner.
 */
export async function noteReplaced(store: Store, lease: Lease, nowMs: number): Promise<'once' | 'tooOften'> {
  const keys = deviceKeys(store.space, lease.address);
  const reply = await store.run(
    'note-replaced',
    [keys.lease, keys.replaced],
    [lease.token, Math.floor(nowMs), TOO_OFTEN, WINDOW_MS],
  );
  if (reply === 'fenced') throw new FencedError({ step: 'note replaced' });
  return reply === 1 ? 'tooOften' : 'once';
}
