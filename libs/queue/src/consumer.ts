import { findJobProblem, type JobName, type JobPayloads } from '@gateway/contracts/jobs';
import { type KeySpace, queueName, queuePrefix } from '@gateway/contracts/redis-keys';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { type Job, UnrecoverableError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { NOTE_EVERY_MS, noteQueue, removeSilentQueues, resumeQueue } from './queues.js';

/** One handler per job of the catalogue: a missing one does not compile. */
export type JobHandlers = { [Name in JobName]: (payload: JobPayloads[Name]) => Promise<void> };

export interface Consumer {
  /** Takes no more work, and waits for the handlers. */
  close(): Promise<void>;
}

export interface ConsumerOptions {
  /** Shared; the Worker adds one blocking connection of its own. Must wait for Redis (`maxRetriesPerRequest: null`). */
  connection: Redis;
  space: KeySpace;
  processId: string;
  handlers: JobHandlers;
  /** Jobs that are handled at a time. */
  concurrency: number;
  logger: Logger;
  /** How often it looks after queues, from its start on. Default: once a minute. */
  tidyEveryMs?: number;
}

/** After a SIGKILL nothing waits for a job: it was for this process, and its queue is removed. */
const LOCK_MS = 30_000;
/** BullMQ never resets its count of stalls. */
const UNLIMITED_STALLS = 1_000_000_000;
/** An idle Worker asks Redis this seldom; a new job wakes it at once. Shorter than its connection waits for an answer. */
const DRAIN_DELAY_SECONDS = 10;

/** Works on the queue of this process: one for all of its devices. Also removes the queues of those that have ended. */
export function createConsumer(options: ConsumerOptions): Consumer {
  const { connection, space, processId, logger } = options;
  const worker = new Worker(queueName(processId), (job) => work(options, job), {
    connection,
    prefix: queuePrefix(space),
    concurrency: options.concurrency,
    lockDuration: LOCK_MS,
    stalledInterval: LOCK_MS,
    maxStalledCount: UNLIMITED_STALLS,
    drainDelay: DRAIN_DELAY_SECONDS,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 0 },
  });
  worker.on('error', (error) => logger.debug('queue worker error', { error }));
  worker.on('failed', (job, error) => {
    logger.error('job failed', { jobId: job?.id, requestId: job?.data?.requestId, error });
  });
  const tidy = () => tidyQueues(options);
  tidy();
  const timer = setInterval(tidy, options.tidyEveryMs ?? NOTE_EVERY_MS);
  return {
    close: () => {
      clearInterval(timer);
      return worker.close();
    },
  };
}

/** Each by itself: on a Cluster the list of queues and the queue of this process lie on nodes of their own, which may be away. */
function tidyQueues(options: ConsumerOptions): void {
  const { processId, logger } = options;
  const warn = (thrown: unknown) => logger.warn('queues not looked after', { error: toError(thrown) });
  noteQueue(options, processId)
    .then(() => removeSilentQueues(options))
    .catch(warn);
  resumeQueue(options, processId)
    .then((wasPaused) => wasPaused && logger.warn('the queue of this process was paused: it goes on', { processId }))
    .catch(warn);
}

/** Payloads are validated again: old ones, and ones that others wrote, are expected. */
async function work({ handlers }: ConsumerOptions, job: Job): Promise<void> {
  if (!Object.hasOwn(handlers, job.name)) throw new UnrecoverableError('no such kind of job');
  const name = job.name as JobName;
  const problem = findJobProblem(name, job.data);
  if (problem) throw new UnrecoverableError(`invalid payload: ${problem}`);
  await (handlers[name] as (payload: unknown) => Promise<void>)(job.data);
}
