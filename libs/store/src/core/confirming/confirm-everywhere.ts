import { masterNodes, masterOfKey, mastersOfAllSlots } from '@gateway/runtime/redis/redis-nodes';
import { type Connections, connectionsTo } from '@gateway/runtime/redis/server-of';
import type { Store } from '../store.js';

/**
 * Resolves once replicas of every master have all that was written until now. Throws `not_confirmed`, and
 * `redis_away` when a slot of a Cluster has no master: what was written there may be lost, or come back.
 * @param since of several writes: `connectToAll` before the first one. Where there is another master since, that may not have them, and
 * nothing is confirmed.
 */
export async function confirmEverywhere(store: Store, since?: Connections): Promise<void> {
  const { redis, space, confirmWrites } = store;
  // Replicas are asked about who it leads to.
  await connectToAll({ redis, asksReplicas: false });
  const left = mastersOfAllSlots(redis);
  const keys: string[] = [];
  // Each slot has one of these tags, also the only slot of a master.
  for (let i = 0; left.size > 0; i++) {
    const key = `${space.prefix}:{#${i}}:confirmed`;
    if (left.delete(masterOfKey(redis, key))) keys.push(key);
  }
  await Promise.all(keys.map((key) => confirmWrites(key, since)));
}

/** The same of the masters of these keys: others may be away. */
export async function confirmKeys(store: Store, keys: readonly string[], since: Connections): Promise<void> {
  const ofMasters = new Map(keys.map((key) => [masterOfKey(store.redis, key), key]));
  await Promise.all([...ofMasters.values()].map((key) => store.confirmWrites(key, since)));
}

export function connectToAll({ redis, asksReplicas }: Pick<Store, 'redis' | 'asksReplicas'>): Promise<Connections> {
  return connectionsTo(masterNodes(redis), { asksHistory: asksReplicas });
}
