import { shardKeys } from '@gateway/contracts/redis-keys';
import { addTotals, type Totals } from '@gateway/contracts/sends/totals';
import { SHARDS } from '@gateway/contracts/shards';
import type { Store } from '../core/store.js';

export interface AllTotals {
  kinds: Totals;
  /** Error code -> recipients that ever failed of it. */
  errors: Map<number, number>;
}

/** What became of all recipients that were ever accepted, in all workspaces. Two commands for each shard. */
export async function readTotals({ redis, space }: Store): Promise<AllTotals> {
  const keys = Array.from({ length: SHARDS }, (_, shard) => shardKeys(space, shard).totals);
  const [strings, hashes] = await Promise.all([
    Promise.all(keys.map((key) => redis.getBuffer(key))),
    Promise.all(keys.map((key) => redis.hgetall(`${key}:errors`))),
  ]);
  const errors = new Map<number, number>();
  for (const [code, count] of hashes.flatMap((hash) => Object.entries(hash))) {
    errors.set(Number(code), (errors.get(Number(code)) ?? 0) + Number(count));
  }
  return { kinds: addTotals(strings.filter((bytes) => bytes !== null)), errors };
}
