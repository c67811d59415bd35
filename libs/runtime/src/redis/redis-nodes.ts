import slotOf from 'cluster-key-slot';
import { Cluster, type Redis } from 'ioredis';
import { GatewayError } from '../errors.js';

/** Of every Redis Cluster. */
export const SLOTS = 16_384;

/** Those that hold the data: each master of a Redis Cluster, otherwise the one. For commands that tell about a server and not about a key. */
export function masterNodes(redis: Redis): Redis[] {
  return isCluster(redis) ? (redis as unknown as Cluster).nodes('master') : [redis];
}

/** Where the slot of a key is written, as far as this client knows. */
export function masterOfKey(redis: Redis, key: string): Redis {
  if (!isCluster(redis)) return redis;
  const cluster = redis as unknown as Cluster;
  const name = masterNameOfKey(redis, key);
  const node = cluster.nodes('master').find((each) => addressOfNode(each) === name);
  if (!node) throw new GatewayError({ code: 'redis_away', message: 'no master is known for a slot' });
  return node;
}

/**
 * Whichever node of a Cluster is told, all hear of it. Not any: that one may hang, while the node of this key has just answered, or will not
 * for anybody.
 */
export async function publishBeside(redis: Redis, key: string, [channel, text]: [string, string]): Promise<void> {
  // A client of a Cluster that was closed never answers.
  if (redis.status !== 'end') await nodeBeside(redis, key).publish(channel, text);
}

function nodeBeside(redis: Redis, key: string): Redis {
  try {
    return masterOfKey(redis, key);
  } catch {
    return redis;
  }
}

/** The same by its address, whether it is there or not. Of a Cluster: `undefined` for a slot that is served by none. */
export function masterNameOfKey(redis: Redis, key: string): string | undefined {
  return (redis as unknown as Cluster).slots[slotOf(key)]?.[0];
}

/**
 * All that have a slot, as far as this client knows. Throws `redis_away` when any slot has none: a client forgets a master as soon as
 * its connection ends.
 */
export function mastersOfAllSlots(redis: Redis): Set<Redis> {
  if (!isCluster(redis)) return new Set([redis]);
  const cluster = redis as unknown as Cluster;
  const masters = new Map(cluster.nodes('master').map((node) => [addressOfNode(node), node]));
  const found = new Set<Redis>();
  for (let slot = 0; slot < SLOTS; slot++) {
    const node = masters.get(cluster.slots[slot]?.[0] ?? '');
    if (!node) {
      const message = 'a master of the Redis Cluster is away: run it again when all masters are there';
      throw new GatewayError({ code: 'redis_away', message });
    }
    found.add(node);
  }
  return found;
}

/**
 * Asks a Cluster which masters there are now, of which a client otherwise hears when a write of its own is refused, or seconds later.
 * Answers whether a node has told it: never throws.
 */
export async function refreshMasters(redis: Redis): Promise<boolean> {
  if (!isCluster(redis)) return true;
  const cluster = redis as unknown as Cluster;
  return new Promise((resolve) => cluster.refreshSlotsCache((error) => resolve(!error)));
}

export function addressOfNode({ options: { host, port } }: Redis): string {
  return `${host}:${port}`;
}

/** A client of a Cluster is typed as one of a single Redis: all that is done with it concerns one slot, which both can do. */
export function isCluster(redis: unknown): boolean {
  return redis instanceof Cluster;
}
