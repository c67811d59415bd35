import type { DeviceAddress, MessageId } from '@gateway/contracts/ids';
import { PRIORITIES, type SendJob, sendJobId } from '@gateway/contracts/jobs';
import { type KeySpace, queueName, queuePrefix } from '@gateway/contracts/redis-keys';
import { GatewayError } from '@gateway/runtime/errors';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';

export interface Producer {
  /** Puts the wake-up of a send into its device's queue. Safe to repeat: the same send and epoch is one job. */
  addSend(job: SendJob, options: { epoch: number }): Promise<void>;
  /** Whether the job that was added with the send itself (epoch 0) is still there. */
  hasSend(address: DeviceAddress, messageId: MessageId): Promise<boolean>;
  close(): Promise<void>;
}

/** Queue handles kept per process; one costs next to nothing, and they all share the connection. */
const MAX_HANDLES = 1_000;
/** Failed jobs are bad payloads: a few are kept for whoever looks. */
const KEEP_FAILED = { count: 100 };
/** BullMQ keeps 512 kB of events per queue by default; nobody reads ours. */
const MAX_EVENTS = 100;

/**
 * Adds jobs to the queues of devices.
 * @param connection shared and never closed here; how it behaves while Redis is away is its maker's choice.
 */
export function createProducer({ connection, space }: { connection: Redis; space: KeySpace }): Producer {
  const handles = new Map<string, Queue>();

  function queueOf(address: DeviceAddress): Queue {
    const name = queueName(address);
    const known = handles.get(name);
    if (known) return known;
    const queue = new Queue(name, {
      connection,
      prefix: queuePrefix(space),
      streams: { events: { maxLen: MAX_EVENTS } },
      defaultJobOptions: { removeOnComplete: true, removeOnFail: KEEP_FAILED },
    });
    // Errors of the connection reach whoever calls; without a listener they would end the process.
    queue.on('error', () => {});
    handles.set(name, queue);
    if (handles.size > MAX_HANDLES) void closeOldest();
    return queue;
  }

  /** A handle whose first steps failed stays broken for ever: after any failure the next call makes another. */
  async function useQueue<Result>(address: DeviceAddress, work: (queue: Queue) => Promise<Result>): Promise<Result> {
    refuseWhileAway(connection);
    const queue = queueOf(address);
    try {
      return await work(queue);
    } catch (error) {
      if (handles.get(queue.name) === queue) handles.delete(queue.name);
      throw error;
    }
  }

  async function closeOldest(): Promise<void> {
    const [oldest] = handles;
    if (!oldest) return;
    handles.delete(oldest[0]);
    await oldest[1].close().catch(() => {});
  }

  return {
    async addSend(job, { epoch }) {
      const jobId = sendJobId(job.messageId, epoch);
      await useQueue(job, async (queue) => {
        // A job that failed is kept, and its id with it: it gives way, or this send would never be woken again.
        if (epoch > 0) await queue.remove(jobId);
        await queue.add('send', job, { jobId, priority: PRIORITIES[job.priority] });
      });
    },
    async hasSend(address, messageId) {
      return (await useQueue(address, (queue) => queue.getJob(sendJobId(messageId, 0)))) !== undefined;
    },
    async close() {
      await Promise.all([...handles.values()].map((queue) => queue.close()));
      handles.clear();
    },
  };
}

/** BullMQ waits for a connection however long it takes; whoever asked for one that fails fast does not. */
function refuseWhileAway({ options, status }: Redis): void {
  if (options.enableOfflineQueue || status === 'ready') return;
  throw new GatewayError({ code: 'redis_away', message: 'Redis does not answer' });
}
