import type { KeySpace } from '@gateway/contracts/redis-keys';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { openRedisSpace, type RedisSpace } from '../redis-space.js';
import type { RedisCluster } from './redis-cluster.js';

/** A space for a test, with one of the masters that has none of these keys of it: the test can go on without that one. */
export async function openSpaceBesideNode(cluster: RedisCluster, keysOf: (keys: KeySpace) => readonly string[]) {
  for (;;) {
    const space = await openRedisSpace({ url: cluster.url });
    const ports = new Set(keysOf(space.store.space).map((key) => portOf(space, key)));
    const free = cluster.shards.find(({ master }) => !ports.has(master.port));
    if (free) return { space, master: free.master };
    await space.close();
  }
}

/** Of the master that has a key. */
export function portOf({ store: { redis } }: RedisSpace, key: string): number | undefined {
  return masterOfKey(redis, key).options.port;
}
