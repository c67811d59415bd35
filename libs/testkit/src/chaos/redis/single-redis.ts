import { RedisProcess } from '../../redis-servers/redis-process.js';
import type { RedisBlow, RedisOfRun } from './redis-of-run.js';

/** One Redis, which is killed and comes back with all that it had taken. */
export async function startSingleRedis({ logFolder }: { logFolder: string }): Promise<RedisOfRun> {
  const redis = await RedisProcess.start({ logFolder });
  const blows: RedisBlow[] = [];
  return {
    ...{ url: redis.url, weight: 1, keepsPromises: true, hasHadAll: true, blows },
    hurt: async () => {
      const fromMs = Date.now();
      await redis.killAndRestart();
      blows.push({ what: 'kill', fromMs, untilMs: Date.now() });
      return { isKill: true };
    },
    settle: async () => {},
    stop: () => redis.stop(),
  };
}
