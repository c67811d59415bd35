import { RedisProcess } from './chaos/redis-process.js';
import { openRedisSpace, type RedisSpace } from './redis-space.js';

/** A Redis of a test's own, with a `maxmemory` that it can be brought to. */
export interface SmallRedis {
  space: RedisSpace;
  maxBytes: number;
  /** Fills it up to a share of its `maxmemory`. */
  fillTo(share: number): Promise<void>;
  /** From now on it takes nothing that needs memory, also when a few megabytes are freed. */
  fill(): Promise<void>;
  /** What was filled in goes. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

const MEGABYTE = 1024 * 1024;
const OVERFLOW_BYTES = 8 * MEGABYTE;
/** With its header just under what the allocator hands out: a large piece would be rounded up by megabytes. */
const PIECE_BYTES = 60_000;
const ADD_PIECES = `#!lua flags=allow-oom
local piece = string.rep('x', ARGV[1])
for _ = 1, ARGV[2] do redis.call('RPUSH', KEYS[1], piece) end`;
/** One byte at the end of a string of zeros. */
const ADD_AT_ONCE = `#!lua flags=allow-oom
redis.call('SETRANGE', KEYS[1], ARGV[1], 'x')`;

export async function startSmallRedis({ maxBytes = 64 * MEGABYTE } = {}): Promise<SmallRedis> {
  const server = await RedisProcess.start();
  const space = await openRedisSpace({ url: server.url });
  const redis = space.clients.commands;
  const filler = `${space.prefix}:filler`;
  await redis.config('SET', 'maxmemory', maxBytes);
  const usedBytes = async () => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))![1]);
  const empty = async () => void (await redis.del(filler));
  return {
    space,
    maxBytes,
    fillTo: async (share) => {
      await empty();
      for (;;) {
        const pieces = Math.floor((share * maxBytes - (await usedBytes())) / PIECE_BYTES);
        if (pieces <= 0) return;
        // What a piece takes beside its bytes is seen on the way.
        await redis.eval(ADD_PIECES, 1, filler, PIECE_BYTES, pieces > 20 ? Math.floor(pieces * 0.9) : 1);
      }
    },
    fill: async () => {
      await empty();
      await redis.eval(ADD_AT_ONCE, 1, filler, maxBytes + OVERFLOW_BYTES - (await usedBytes()));
    },
    empty,
    close: async () => {
      await space.close();
      await server.stop();
    },
  };
}
