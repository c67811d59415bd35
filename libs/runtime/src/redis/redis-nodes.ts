import slotOf from 'cluster-key-slot';
import { Cluster, type Redis } from 'ioredis';
import { GatewayError } from '../errors.js';

/** Those that hold the data: each master of a Redis Cluster, otherwise the one. For commands that tell about a server and not about a key. */
export function masterNodes(redis: Redis): Redis[] {
  return isCluster(redis) ? (redis as unknown as Cluster).nodes('master') : [redis];
}

/** Where the slot of a key is written, as far as this client knows. */
export function masterOfKey(redis: Redis, key: string): Redis {
  if (!isCluster(redis)) return redis;
  const cluster = redis as unknown as Cluster;
  const [name] = cluster.slots[slotOf(key)] ?? [];
  const node = cluster.nodes('master').find(({ options: { host, port } }) => `${host}:${port}` === name);
  if (!node) throw new GatewayError({ code: 'redis_away', message: 'no master is known for a slot' });
  return node;
}

/** A client of a Cluster is typed as one of a single Redis: all that is done with it concerns one slot, which both can do. */
export function isCluster(redis: unknown): boolean {
  return redis instanceof Cluster;
}

/** All keys of an installation that match a pattern, some hundreds at a time; one may come twice, as with `SCAN`. */
export async function* scanKeys(
  redis: Redis,
  { match, count }: { match: string; count: number },
): AsyncGenerator<string[]> {
  for (const node of masterNodes(redis)) {
    let cursor = '0';
    do {
      const [next, keys] = await node.scan(cursor, 'MATCH', match, 'COUNT', count);
      cursor = next;
      yield keys;
    } while (cursor !== '0');
  }
}
