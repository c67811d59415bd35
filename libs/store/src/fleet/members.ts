import { memberKeys } from '@gateway/contracts/redis-keys';
import { lastKnown } from '../core/away/last-known.js';
import { defineScript, number, text } from '../core/scripts/define-script.js';
import { words } from '../core/scripts/replies.js';
import type { Store } from '../core/store.js';

const beatStep = defineScript({
  name: 'beat-heart',
  whenFull: 'runs',
  keys: ['members', 'memberLoads'],
  args: { processId: text, ttlMs: number, load: text },
  reply: words,
});
const listStep = defineScript({
  name: 'list-members',
  whenFull: 'runs',
  isRead: true,
  keys: ['members', 'memberLoads'],
  args: { ttlMs: number },
  reply: words,
});

/** A sender. */
export interface Member {
  id: string;
  /** Devices it holds, and how many it may. */
  held: number;
  capacity: number;
}

/** Beyond its `capacity`, while all are full: a device is not left without a sender for the last tenth. */
export function mostDevices(capacity: number): number {
  return capacity + Math.floor(capacity / 10);
}

/** The senders that live, or did when the node of a Cluster that has their list was there. `undefined`: it was not yet. */
export async function knownMembers(store: Store): Promise<Member[] | undefined> {
  return (await readKnown(store)).value;
}

/** Whether some sender lives that could have one more linked device, as far as it is known. */
export async function hasSender(store: Store): Promise<boolean> {
  const senders = await knownMembers(store);
  return senders?.some(({ held, capacity }) => held < mostDevices(capacity)) ?? true;
}

/** A process that has not been heard of for this long does not count any more. */
const MEMBER_TTL_MS = 6_000;

/**
 * Says that this process lives; answers all that do.
 * @param ttlMs shorter than that of sessions, so that the devices of a dead process are assigned again before they are free.
 */
export async function beatHeart(store: Store, { self, ttlMs }: { self: Member; ttlMs: number }): Promise<Member[]> {
  const load = JSON.stringify({ held: self.held, capacity: self.capacity });
  return toMembers(await beatStep(store, { ...memberKeys(store.space), processId: self.id, ttlMs, load }));
}

/** All senders that live. */
export async function listMembers(store: Store): Promise<Member[]> {
  return toMembers(await listStep(store, { ...memberKeys(store.space), ttlMs: MEMBER_TTL_MS }));
}

const readKnown = lastKnown(listMembers);

/** Leaves the set at once, so that nothing is given to a process that stops. */
export async function leaveMembers(store: Store, id: string): Promise<void> {
  const { members, memberLoads } = memberKeys(store.space);
  // No transaction, which a full Redis refuses; the set alone says who lives.
  await Promise.all([store.redis.zrem(members, id), store.redis.hdel(memberLoads, id)]);
}

function toMembers(flat: string[]): Member[] {
  const members: Member[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const load = JSON.parse(flat[i + 1]!) as Partial<Member>;
    members.push({ id: flat[i]!, held: load.held ?? 0, capacity: load.capacity ?? 0 });
  }
  return members.sort((a, b) => (a.id < b.id ? -1 : 1));
}
