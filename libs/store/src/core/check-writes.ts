import { shardKeys } from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import type { Redis } from 'ioredis';
import type { Store } from './store.js';

const MARK_TTL_MS = 10_000;

/**
 * Whether every node that has a shard takes writes, from the connection that owners write with: one that hangs, is full, or has
 * become a replica lets nothing of a device be written, although it may still answer questions. Rejects when one refuses; waits
 * while one does not answer. Those who ask meanwhile wait for the same write.
 */
export function checkWrites(store: Store): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= writeToAll(store).finally(() => {
      running = undefined;
    });
    return running;
  };
}

async function writeToAll({ redis, space }: Store): Promise<void> {
  const places = new Map<Redis, string>();
  for (let shard = 0; shard < SHARDS; shard++) {
    const { writable } = shardKeys(space, shard);
    places.set(masterOfKey(redis, writable), writable);
  }
  await Promise.all([...places.values()].map((key) => redis.set(key, '', 'PX', MARK_TTL_MS)));
}
