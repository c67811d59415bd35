import { setImmediate } from 'node:timers/promises';
import { MAX_SENDS_PER_JOB, PRIORITIES, type SendJob } from '@gateway/contracts/jobs';
import { type KeySpace, queueName, queuePrefix } from '@gateway/contracts/redis-keys';
import { sleep, systemClock } from '@gateway/runtime/clock';
import { GatewayError } from '@gateway/runtime/errors';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { NOTE_EVERY_MS, noteQueue } from './queues.js';

export interface Producer {
  /**
   * Wakes the owner of a send, by the queue of its process: a one-time password at once by a job of its own; others in one job with
   * those that come within a moment after the job before it. Safe to repeat.
   * @param options.again The first job was not heeded. It may be stuck with a worker that never got it, for as long as its
   *   lock holds, so this is another job, which does no harm beside it.
   */
  addSend(processId: string, job: SendJob, options?: { again: boolean }): Promise<void>;
  close(): Promise<void>;
}

interface Handle {
  /** Absent from its first failure on, until the next job. */
  queue: Queue | undefined;
  /** By the monotonic clock; infinite while that is under way. */
  noteAtMs: number;
}

/** Wake-ups for the lists of a process. */
interface Lists {
  /** Over when the job that was added last is there, and the moment after it. Never rejects. */
  last: Promise<unknown>;
  /** The one behind it. */
  next?: { jobs: SendJob[]; added: Promise<void> } | undefined;
}

/** After a pause a job goes at once; those that follow it soon tell of all that came meanwhile. */
const GATHER_MS = 15;
/** Queue handles kept per process; one costs next to nothing, and they all share the connection. */
const MAX_HANDLES = 200;
/** While the list of queues cannot be written. */
const NOTE_AGAIN_MS = 1_000;
/** BullMQ keeps 512 kB of events per queue by default; ours are not read. */
const MAX_EVENTS = 100;

/**
 * Adds jobs to the queues of processes.
 * @param connection shared and never closed here; how it behaves while Redis is away is its maker's choice.
 */
export function createProducer({ connection, space }: { connection: Redis; space: KeySpace }): Producer {
  const handles = new Map<string, Handle>();
  /** By process, while there are any. */
  const lists = new Map<string, Lists>();
  const closing = new AbortController();

  function open(processId: string): Handle & { queue: Queue } {
    const handle = handles.get(processId) ?? { queue: undefined, noteAtMs: Number.NEGATIVE_INFINITY };
    handles.set(processId, handle);
    if (systemClock.monotonicMs() >= handle.noteAtMs) void note(handle, processId);
    if (handles.size > MAX_HANDLES) void closeOldest();
    const queue = handle.queue ?? makeQueue(processId);
    return Object.assign(handle, { queue });
  }

  /**
   * The queue of a process that takes no jobs, or has ended, is found by this note, and removed. No job waits for it: on a Cluster the
   * list of queues may lie on a node that is away.
   */
  async function note(handle: Handle, processId: string): Promise<void> {
    handle.noteAtMs = Number.POSITIVE_INFINITY;
    const write = () =>
      noteQueue({ connection, space }, processId).then(
        () => true,
        () => false,
      );
    while (!closing.signal.aborted && !(await write())) await sleep(NOTE_AGAIN_MS, closing.signal).catch(() => {});
    handle.noteAtMs = systemClock.monotonicMs() + NOTE_EVERY_MS;
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
    await oldest[1].queue?.close().catch(() => {});
  }

  async function add(processId: string, jobs: readonly SendJob[], { again = false } = {}): Promise<void> {
    refuseWhileAway(connection);
    const handle = open(processId);
    const { queue } = handle;
    const [job] = jobs as [SendJob];
    const priority = PRIORITIES[job.priority];
    try {
      // A process of the version before this one knows only jobs of one send.
      if (jobs.length > 1) await queue.add('sends', { v: 1, sends: jobs }, { priority });
      else await queue.add('send', job, { priority, ...(again ? {} : { jobId: job.messageId }) });
    } catch (error) {
      // A handle whose first steps failed stays broken for ever: after any failure the next call makes another.
      if (handle.queue === queue) Object.assign(handle, { queue: undefined });
      throw error;
    }
  }

  /** In one job with others that come in this turn of the event loop, or within a moment after the job before it. */
  function gather(processId: string, job: SendJob): Promise<void> {
    const ofProcess = lists.get(processId) ?? { last: Promise.resolve() };
    lists.set(processId, ofProcess);
    ofProcess.next ??= openNext(processId, ofProcess);
    ofProcess.next.jobs.push(job);
    return ofProcess.next.added;
  }

  function openNext(processId: string, ofProcess: Lists): NonNullable<Lists['next']> {
    const jobs: SendJob[] = [];
    const addAll = async () => {
      await ofProcess.last;
      await setImmediate();
      ofProcess.next = undefined;
      const last = Promise.allSettled([added, sleep(GATHER_MS)]);
      ofProcess.last = last;
      void last.then(() => {
        if (ofProcess.last === last && !ofProcess.next) lists.delete(processId);
      });
      for (let from = 0; from < jobs.length; from += MAX_SENDS_PER_JOB)
        await add(processId, jobs.slice(from, from + MAX_SENDS_PER_JOB));
    };
    const added = addAll();
    return { jobs, added };
  }

  return {
    async addSend(processId, job, { again } = { again: false }) {
      if (again || job.priority === 'otp') await add(processId, [job], { again });
      else await gather(processId, job);
    },
    async close() {
      await Promise.allSettled([...lists.values()].map(({ last, next }) => next?.added ?? last));
      closing.abort();
      await Promise.all([...handles.values()].map(({ queue }) => queue?.close()));
      handles.clear();
    },
  };
}

/** BullMQ waits for a connection however long it takes; who asked for one that fails fast does not. */
function refuseWhileAway({ options, status }: Redis): void {
  if (options.enableOfflineQueue || status === 'ready') return;
  throw new GatewayError({ code: 'redis_away', message: 'Redis does not answer' });
}
