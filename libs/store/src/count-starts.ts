import { deviceKeys } from '@gateway/contracts/redis-keys';
import { FencedError } from '@gateway/runtime/errors';
import type { Lease } from './leases.js';
import type { Store } from './store.js';

/** What has failed so long ago may be better by now. */
const FORGOTTEN_MS = 60 * 60_000;

/**
 * Notes that an ownership begins. Returns how many in a row did not last, with this one: those before it ended with their
 * process, or failed. Throws `FencedError` for a stale owner.
 */
export function noteStart(store: Store, lease: Lease): Promise<number> {
  return note(store, lease, 'started');
}

/** This ownership went well, until now or to its end. Safe to repeat. Throws `FencedError` for a stale owner. */
export async function noteLasted(store: Store, lease: Lease): Promise<void> {
  await note(store, lease, 'lasted');
}

async function note(store: Store, lease: Lease, what: 'started' | 'lasted'): Promise<number> {
  const keys = deviceKeys(store.space, lease.address);
  const starts = await store.run('note-start', [keys.lease, keys.starts], [lease.token, what, FORGOTTEN_MS]);
  if (starts === -1) throw new FencedError({ step: 'note start' });
  return Number(starts);
}
