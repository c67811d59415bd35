import { randomBytes } from 'node:crypto';
import type { RedisSpace } from '@gateway/testkit/redis-space';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { measureMemory } from '../support/measure-memory.js';

export interface OneJobEach {
  /** How long `addBulk` took. */
  ms: number;
  /** Redis memory of the queue with its jobs. */
  readBytes(): Promise<number>;
  remove(): Promise<void>;
}

/** The usual way to send to a list: one BullMQ job per recipient, with all that sending it needs. */
export async function addOneJobEach({ clients, url, prefix }: RedisSpace, to: readonly string[]): Promise<OneJobEach> {
  const name = `one-job-each-${randomBytes(4).toString('hex')}`;
  const connection = new Redis(url);
  const queue = new Queue(name, { connection, prefix: `${prefix}:bench` });
  await queue.waitUntilReady();
  const jobs = to.map((number) => ({
    name: 'send',
    data: { workspace: 'main', device: 'default', to: number, text: 'Hello from a benchmark', requestId: name },
  }));
  const startedMs = performance.now();
  await queue.addBulk(jobs);
  const ms = performance.now() - startedMs;
  return {
    ms,
    readBytes: () => measureMemory(clients.commands, `${prefix}:bench:${name}:*`),
    remove: async () => {
      await queue.obliterate({ force: true });
      await queue.close();
      await connection.quit();
    },
  };
}
