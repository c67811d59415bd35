import { PRIORITIES, type SendJob } from '@gateway/contracts/jobs';
import { type KeySpace, queueName, queuePrefix } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { GatewayError } from '@gateway/runtime/errors';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { NOTE_EVERY_MS, noteQueue } from './queues.js';

export interface Producer {
  /**
   * Wakes the owner of a send, by the queue of its process. Safe to repeat: while the job waits it is one.
   * @param options.again The first job was not heeded. It may be stuck with a worker that never got it, for as long as its
   *   lock holds, so this is another job, which does no harm beside it.
   */
  addSend(processId: string, job: SendJob, options?: { again: boolean }): Promise<void>;
  close(): Promise<void>;
}

interface Handle {
  queue: Queue;
  notedAtMs: number;
}

/** Queue handles kept per process; one costs next to nothing, and they all share the connection. */
const MAX_HANDLES = 200;
/** BullMQ keeps 512 kB of events per queue by default; ours are not read. */
const MAX_EVENTS = 100;

/**
 * Adds jobs to the queues of processes.
 * @param connection shared and never closed here; how it behaves while Redis is away is its maker's choice.
 */
export function createProducer({ connection, space }: { connection: Redis; space: KeySpace }): Producer {
  const handles = new Map<string, Handle>();

  /** The queue of a process that takes no jobs, or has ended, is found by this note, and removed. */
  async function open(processId: string): Promise<Handle> {
    const nowMs = systemClock.monotonicMs();
    const known = handles.get(processId);
    if (known && nowMs - known.notedAtMs < NOTE_EVERY_MS) return known;
    await noteQueue({ connection, space }, processId);
    const handle = { queue: known?.queue ?? makeQueue(processId), notedAtMs: nowMs };
    handles.set(processId, handle);
    if (handles.size > MAX_HANDLES) void closeOldest();
    return handle;
  }

  function makeQueue(processId: string): Queue {
    const queue = new Queue(queueName(processId), {
      connection,
      prefix: queuePrefix(space),
      streams: { events: { maxLen: MAX_EVENTS } },
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    });
    // Errors of the connection reach who calls; without a listener they would end the process.
    queue.on('error', () => {});
    return queue;
  }

  async function closeOldest(): Promise<void> {
    const [oldest] = handles;
    if (!oldest) return;
    handles.delete(oldest[0]);
    await oldest[1].queue.close().catch(() => {});
  }

  return {
    async addSend(processId, job, { again } = { again: false }) {
      refuseWhileAway(connection);
      const handle = await open(processId);
      try {
        const id = again ? {} : { jobId: job.messageId };
        await handle.queue.add('send', job, { ...id, priority: PRIORITIES[job.priority] });
      } catch (error) {
        // A handle whose first steps failed stays broken for ever: after any failure the next call makes another.
        if (handles.get(processId) === handle) handles.delete(processId);
        throw error;
      }
    },
    async close() {
      await Promise.all([...handles.values()].map(({ queue }) => queue.close()));
      handles.clear();
    },
  };
}

/** BullMQ waits for a connection however long it takes; who asked for one that fails fast does not. */
function refuseWhileAway({ options, status }: Redis): void {
  if (options.enableOfflineQueue || status === 'ready') return;
  throw new GatewayError({ code: 'redis_away', message: 'Redis does not answer' });
}
