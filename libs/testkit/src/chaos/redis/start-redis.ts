import type { RedisOfRun } from './redis-of-run.js';
import { startClusterRedis, startSentinelRedis } from './replicated-redis.js';
import { startSingleRedis } from './single-redis.js';

export const REDIS_KINDS = ['single', 'sentinel', 'cluster'] as const;
export type RedisKind = (typeof REDIS_KINDS)[number];

/** Of each master. */
const REPLICAS: Record<RedisKind, number> = { single: 0, sentinel: 2, cluster: 1 };
const STARTS = { single: startSingleRedis, sentinel: startSentinelRedis, cluster: startClusterRedis };

export function replicasOf(kind: RedisKind): number {
  return REPLICAS[kind];
}

/**
 * @param options.waitReplicas `REDIS_WAIT_REPLICAS` of the gateway.
 * @param options.say says what befalls Redis.
 */
export function startRedis(
  kind: RedisKind,
  options: { logFolder: string; waitReplicas: number; say(line: string): void },
): Promise<RedisOfRun> {
  return STARTS[kind]({ ...options, replicas: REPLICAS[kind] });
}
