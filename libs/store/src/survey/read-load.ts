import { type DeviceAddress, nameOfDevice } from '@gateway/contracts/ids';
import { deviceKeys, shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import type { Store } from '../core/store.js';

/** What waits at a device. */
export interface DeviceLoad {
  messages: number;
  openSends: number;
  /** When the finish of its most overdue send was promised. */
  overdueSinceMs?: number;
}

/** Of all overdue sends of a shard so many are looked through. */
const MOST_OVERDUE = 1_000;

export async function readLoad(store: Store, address: DeviceAddress, nowMs: number): Promise<DeviceLoad> {
  const { redis, space } = store;
  const keys = deviceKeys(space, address);
  const { promised } = shardKeys(space, shardOf(address));
  const [messages, openSends, overdue] = await Promise.all([
    redis.get(keys.backlog),
    redis.zcard(keys.openSends),
    redis.zrangebyscore(promised, '-inf', nowMs, 'WITHSCORES', 'LIMIT', 0, MOST_OVERDUE),
  ]);
  const own = overdue.findIndex((entry, i) => i % 2 === 0 && entry.startsWith(`${nameOfDevice(address)}/`));
  return {
    ...{ messages: Math.max(0, Number(messages ?? 0)), openSends },
    ...(own >= 0 && openSends > 0 && { overdueSinceMs: Number(overdue[own + 1]) }),
  };
}
