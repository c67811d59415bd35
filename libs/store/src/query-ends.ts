import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { FencedError } from '@gateway/runtime/errors';
import type { Lease } from './leases.js';
import type { Store } from './store.js';

/** Ends of the connection in a row during a query after which it is left out. */
const MAX_ENDS = 2;
/** Then it is tried again: it may have been a bad network both times, or the network has changed its mind. */
const LEFT_OUT_MS = 24 * 60 * 60_000;

/** The queries that ended the connection of this account whenever they were asked: its owner, whichever process that is, leaves them out. */
export async function readLeftOut(store: Store, address: DeviceAddress): Promise<Set<string>> {
  const ends = await store.redis.hgetall(deviceKeys(store.space, address).queryEnds);
  return new Set(Object.keys(ends).filter((query) => Number(ends[query]) >= MAX_ENDS));
}

/**
 * The network has ended the connection. @param wasOpen each query that can be left out: whether it was without an answer.
 * Returns those that are left out from now on. Throws `FencedError` for a stale owner.
 */
export async function noteEnd(store: Store, lease: Lease, wasOpen: Record<string, boolean>): Promise<string[]> {
  const keys = deviceKeys(store.space, lease.address);
  const args = [lease.token, MAX_ENDS, LEFT_OUT_MS, JSON.stringify(wasOpen)];
  const reply = await store.run('note-end', [keys.lease, keys.queryEnds], args);
  if (reply === 'fenced') throw new FencedError({ step: 'note end' });
  return reply as string[];
}
