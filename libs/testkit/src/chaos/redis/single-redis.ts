import { RedisProcess } from '../../redis-servers/redis-process.js';
import type { RedisBlow, RedisOfRun } from './redis-of-run.js';

type Options = { logFolder: string; say(line: string): void };

/** One Redis, which is killed and comes back with all that it had taken. */
export async function startSingleRedis({ logFolder, say }: Options): Promise<RedisOfRun> {
  const redis = await RedisProcess.start({ logFolder });
  const blows: RedisBlow[] = [];
  return {
    ...{ url: redis.url, weight: 1, keepsPromises: true, spared: [], blows },
    hurt: async () => {
      const fromMs = Date.now();
      say('Redis: kill');
      await redis.killAndRestart();
      blows.push({ what: 'kill', fromMs, untilMs: Date.now() });
      return { isKill: true };
    },
    settle: async () => {},
    stop: () => redis.stop(),
  };
}
