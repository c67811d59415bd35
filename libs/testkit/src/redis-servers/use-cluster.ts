import { type RedisCluster, startRedisCluster } from './redis-cluster.js';

let cluster: RedisCluster | undefined;

/**
 * What needs a Redis gets a Cluster of three masters.
 * @public mocha loads it by its path.
 */
export async function mochaGlobalSetup(): Promise<void> {
  cluster = await startRedisCluster();
  // biome-ignore lint/style/noProcessEnv: as the launcher sets it for other runs.
  process.env.REDIS_URL = cluster.url;
}

/** @public */
export async function mochaGlobalTeardown(): Promise<void> {
  await cluster?.stop();
}
