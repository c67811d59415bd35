import { masterNodes, masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { type Connections, connectionsTo } from '@gateway/runtime/redis/server-of';
import type { Store } from '../store.js';

/** Each master has one of so many tags, unless it has hardly any slots. */
const MOST_TAGS = 10_000;

/**
 * Resolves once replicas of every master have all that was written until now. Throws `not_confirmed`.
 * @param since of several writes: `connectToAll` before the first one. Where there is another master since, that may not have them, and
 * nothing is confirmed.
 */
export async function confirmEverywhere(store: Store, since?: Connections): Promise<void> {
  const { redis, space, confirmWrites } = store;
  const masters = masterNodes(redis);
  // Replicas are asked about who it leads to.
  await connectToAll({ redis, asksReplicas: false });
  const left = new Set(masters);
  const keys: string[] = [];
  for (let i = 0; left.size > 0 && i < MOST_TAGS; i++) {
    const key = `${space.prefix}:{#${i}}:confirmed`;
    if (left.delete(masterOfKey(redis, key))) keys.push(key);
  }
  await Promise.all(keys.map((key) => confirmWrites(key, since)));
}

export function connectToAll({ redis, asksReplicas }: Pick<Store, 'redis' | 'asksReplicas'>): Promise<Connections> {
  return connectionsTo(masterNodes(redis), { asksHistory: asksReplicas });
}
