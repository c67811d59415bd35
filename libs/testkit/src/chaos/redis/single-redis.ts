import { sleep } from '@gateway/runtime/clock';
import { startRedisProxy } from '../../redis-proxy.js';
import { KEEPS_ALL_WRITES, RedisProcess } from '../../redis-servers/redis-process.js';
import { type Group, hurtable } from './hurtable-redis.js';
import type { RedisOfRun } from './redis-of-run.js';

type Options = { logFolder: string; say(line: string): void };

/** Some are longer than sessions and calls wait, and some shorter. */
const LONGEST_MS = 5_000;

/** One Redis behind a proxy, which comes back with all that it had taken. */
export async function startSingleRedis({ logFolder, say }: Options): Promise<RedisOfRun> {
  const redis = await RedisProcess.start({ logFolder, settings: KEEPS_ALL_WRITES });
  const proxy = await startRedisProxy(redis.url);
  const during = (begin: () => void) => async (_: Group, ms: number) => {
    begin();
    await sleep(ms);
    proxy.restore();
  };
  const blows = { cut: during(proxy.cut), silence: during(proxy.freeze) };
  const stop = async () => {
    proxy.close();
    await redis.stop();
  };
  const kept = { longestMs: LONGEST_MS, keepsPromises: true };
  const hurt = hurtable({ url: proxy.url, all: [redis], masters: 1, blows, ...kept, stop }, { say });
  return Object.assign(hurt, { written: () => redis.written() });
}
