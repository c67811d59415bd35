import { RedisProcess } from './redis-servers/redis-process.js';
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
/** One byte at the end of a string of zeros, which takes next to nothing in the append-only file. */
const ADD = `#!lua flags=allow-oom
for piece = ARGV[2], ARGV[3] do redis.call('SETRANGE', KEYS[1] .. piece, ARGV[1], 'x') end`;
const EMPTY = `#!lua flags=allow-oom
for piece = 1, ARGV[1] do redis.call('DEL', KEYS[1] .. piece) end`;

export async function startSmallRedis({ maxBytes = 64 * MEGABYTE } = {}): Promise<SmallRedis> {
  const server = await RedisProcess.start();
  const space = await openRedisSpace({ url: server.url });
  const redis = space.clients.commands;
  const filler = `${space.prefix}:filler`;
  await redis.config('SET', 'maxmemory', maxBytes);
  const usedBytes = async () => Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))![1]);
  let pieces = 0;
  const add = async (bytes: number, count: number) => {
    await redis.eval(ADD, 1, filler, bytes, pieces + 1, pieces + count);
    pieces += count;
  };
  const empty = async () => {
    await redis.eval(EMPTY, 1, filler, pieces);
    pieces = 0;
  };
  return {
    space,
    maxBytes,
    fillTo: async (share) => {
      await empty();
      for (;;) {
        const count = Math.floor((share * maxBytes - (await usedBytes())) / PIECE_BYTES);
        if (count <= 0) return;
        // What a piece takes beside its bytes is seen on the way.
        await add(PIECE_BYTES, count > 20 ? Math.floor(count * 0.9) : 1);
      }
    },
    fill: async () => {
      await empty();
      await add(maxBytes + OVERFLOW_BYTES - (await usedBytes()), 1);
    },
    empty,
    close: async () => {
      await space.close();
      await server.stop();
    },
  };
}
