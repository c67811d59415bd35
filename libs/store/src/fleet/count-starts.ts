import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { FencedError } from '@gateway/runtime/errors';
import type { Store } from '../core/store.js';
import type { Lease } from './leases.js';

/** What has failed so long ago may be better by now. */
const FORGOTTEN_MS = 60 * 60_000;

/** How many ownerships ended with their process, or failed, since one has lasted. */
export async function readStarts(store: Store, address: DeviceAddress): Promise<number> {
  return Number((await store.redis.get(deviceKeys(store.space, address).starts)) ?? 0);
}

/**
 * Notes that an owner begins to work. Returns how many there were, with this one, that ended with their process or failed since
 * one has lasted. Throws `FencedError` for a stale owner.
 */
export function noteStart(store: Store, lease: Lease): Promise<number> {
  return note(store, lease, 'started');
}

/** This ownership ends without a failure, whether or not it still has its lease: it does not count. */
export async function noteEnded(store: Store, lease: Lease): Promise<void> {
  await note(store, lease, 'ended');
}

/** This ownership has gone well for a while. Safe to repeat. Throws `FencedError` for a stale owner. */
export async function noteLasted(store: Store, lease: Lease): Promise<void> {
  await note(store, lease, 'lasted');
}

async function note(store: Store, lease: Lease, what: 'started' | 'lasted' | 'ended'): Promise<number> {
  const keys = deviceKeys(store.space, lease.address);
  const starts = await store.run('note-start', [keys.lease, keys.starts], [lease.token, what, FORGOTTEN_MS]);
  if (starts === -1) throw new FencedError({ step: 'note start' });
  return Number(starts);
}
