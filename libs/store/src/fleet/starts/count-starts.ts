import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { defineScript, number, text } from '../../core/scripts/define-script.js';
import { nothing, numeric } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import type { Ownership } from '../ownership.js';

const noteStep = defineScript({
  name: 'note-start',
  whenFull: 'runs',
  isFenced: true,
  keys: ['starts'],
  args: { what: text, ttlMs: number },
  reply: numeric,
});
const noteEndedStep = defineScript({
  name: 'note-ended',
  whenFull: 'runs',
  keys: ['starts'],
  args: { token: text },
  reply: nothing,
});

/** What has failed so long ago may be better by now. */
const FORGOTTEN_MS = 60 * 60_000;

/** How many ownerships ended with their process, or failed, since one has lasted. */
export async function readStarts(store: Store, address: DeviceAddress): Promise<number> {
  return store.redis.scard(deviceKeys(store.space, address).starts);
}

/**
 * Notes that an owner begins to work. Returns how many there were, with this one, that ended with their process or failed since
 * one has lasted. Safe to repeat. Throws `FencedError` for a stale owner.
 */
export function noteStart(store: Store, ownership: Ownership): Promise<number> {
  return note(store, ownership, 'started');
}

/** This ownership ends without a failure, also when it was lost: it does not count. Safe to repeat. */
export async function noteEnded(store: Store, ownership: Ownership): Promise<void> {
  const { address, token } = ownership;
  await noteEndedStep(store, { starts: deviceKeys(store.space, address).starts, token });
}

/** This ownership has gone well for a while. Safe to repeat. Throws `FencedError` for a stale owner. */
export async function noteLasted(store: Store, ownership: Ownership): Promise<void> {
  await note(store, ownership, 'lasted');
}

async function note(store: Store, ownership: Ownership, what: 'started' | 'lasted'): Promise<number> {
  const { starts } = deviceKeys(store.space, ownership.address);
  return noteStep(store, ownership, { starts, what, ttlMs: FORGOTTEN_MS });
}
