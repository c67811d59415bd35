import { deviceKeys } from '@gateway/contracts/redis-keys';
import { FencedError } from '@gateway/runtime/errors';
import type { Store } from '../core/store.js';
import type { Lease } from '../fleet/leases.js';
import { cancelSend } from '../sends/change-send.js';
import { listOpenSends } from '../sends/read-send.js';
import { hasIdKey, readDevice, sealIdKey } from './devices.js';

/**
 * Remembers which account is linked from now on; whether it is another than before. Then what was queued is cancelled,
 * for it was meant to come from the account before, and what that one received is forgotten. The same when the key of the
 * platform ids cannot be opened any more: there is another from now on, so nothing of before may be tried again. A process
 * that dies in between is followed by one that still sees another account. Throws `FencedError` for a stale owner.
 */
export async function takeAccount(
  store: Store,
  lease: Lease,
  { phone, nowMs }: { phone: string; nowMs: number },
): Promise<{ isOther: boolean }> {
  const { address } = lease;
  const before = (await readDevice(store, address))?.account;
  const hasIds = await hasIdKey(store, address);
  if (before === phone && hasIds) return { isOther: false };
  const isOther = before !== undefined && before !== phone;
  if (isOther || !hasIds) {
    for (const messageId of await listOpenSends(store, address)) {
      await cancelSend(store, address, messageId, { leaseOfOther: lease, nowMs });
    }
  }
  const keys = deviceKeys(store.space, address);
  const reply = await store.run(
    'change-account',
    [keys.lease, keys.device, keys.received, keys.receivedTimes],
    [lease.token, phone, nowMs, hasIds ? '' : sealIdKey(store, address)],
  );
  if (reply === 'fenced') throw new FencedError({ step: 'change account' });
  return { isOther };
}
