import { RedisProcess } from './chaos/redis-process.js';
import { openRedisSpace, type RedisSpace } from './redis-space.js';

/** A Redis of a test's own, with a `maxmemory` that it can be brought to. */
export interface SmallRedis {
  space: RedisSpace;
  /** From now on it takes nothing that needs memory, also when a few megabytes are freed. */
  fill(): Promise<void>;
  /** What `fill` has put there goes. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

const MEGABYTE = 1024 * 1024;
const OVERFLOW_BYTES = 8 * MEGABYTE;
/** One byte at the end of a string of zeros. */
const FILL = `#!lua flags=allow-oom
redis.call('SETRANGE', KEYS[1], ARGV[1], 'x')`;

export async function startSmallRedis({ maxBytes = 64 * MEGABYTE } = {}): Promise<SmallRedis> {
  const server = await RedisProcess.start();
  const space = await openRedisSpace({ url: server.url });
  const redis = space.clients.commands;
  const filler = `${space.prefix}:filler`;
  await redis.config('SET', 'maxmemory', maxBytes);
  return {
    space,
    fill: async () => {
      const usedBytes = Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))![1]);
      await redis.eval(FILL, 1, filler, maxBytes - usedBytes + OVERFLOW_BYTES);
    },
    empty: async () => void (await redis.del(filler)),
    close: async () => {
      await space.close();
      await server.stop();
    },
  };
}
