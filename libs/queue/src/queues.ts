import { type KeySpace, queueName, queuePrefix, queuesKey } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';

export interface QueuesDeps {
  connection: Redis;
  space: KeySpace;
}

/** Who uses a queue says so as often as this. */
export const NOTE_EVERY_MS = 60_000;
/** A queue unused for this long belongs to a process that has ended, or takes no jobs. */
const SILENT_MS = 5 * NOTE_EVERY_MS;

/** The queue of this process is in use. */
export async function noteQueue({ connection, space }: QueuesDeps, processId: string): Promise<void> {
  await connection.zadd(queuesKey(space), systemClock.nowMs(), processId);
}

/**
 * Removes the queues that no process uses any more. Should one of them be that of a process that was only frozen, nothing is
 * lost: jobs are wake-ups, the records of sends are the truth, and the next job creates the queue again. Each by itself, as the node
 * of one may be away: throws the first error once the others are removed.
 */
export async function removeSilentQueues(deps: QueuesDeps): Promise<void> {
  const { connection, space } = deps;
  const beforeMs = systemClock.nowMs() - SILENT_MS;
  const silent = await connection.zrangebyscore(queuesKey(space), '-inf', beforeMs);
  const removals = await Promise.allSettled(silent.map((processId) => removeQueue(deps, processId)));
  for (const removal of removals) if (removal.status === 'rejected') throw removal.reason;
}

/**
 * The queue of this process is not paused; answers whether it was. Its jobs are wake-ups, and only one who does not know that pauses
 * them. A removal that breaks off leaves the queue paused, too: so does `obliterate` of BullMQ where a job is under way.
 */
export async function resumeQueue(deps: QueuesDeps, processId: string): Promise<boolean> {
  return useQueue(deps, processId, async (queue) => {
    const wasPaused = await queue.isPaused();
    if (wasPaused) await queue.resume();
    return wasPaused;
  });
}

async function removeQueue(deps: QueuesDeps, processId: string): Promise<void> {
  const { connection, space } = deps;
  await useQueue(deps, processId, async (queue) => {
    await queue.obliterate({ force: true });
    // What it leaves of a worker.
    await connection.unlink(...['marker', 'stalled', 'stalled-check'].map((name) => queue.toKey(name)));
    await connection.zrem(queuesKey(space), processId);
  });
}

async function useQueue<Result>(
  { connection, space }: QueuesDeps,
  processId: string,
  work: (queue: Queue) => Promise<Result>,
): Promise<Result> {
  const queue = new Queue(queueName(processId), { connection, prefix: queuePrefix(space), skipMetasUpdate: true });
  queue.on('error', () => {});
  try {
    return await work(queue);
  } finally {
    await queue.close();
  }
}
