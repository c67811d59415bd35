import type { DeviceAddress } from '@gateway/contracts/ids';
import { JOB_SCHEMAS, type JobName, type JobPayloads } from '@gateway/contracts/jobs';
import { type KeySpace, queueName, queuePrefix } from '@gateway/contracts/redis-keys';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { DelayedError, type Job, UnrecoverableError, Worker } from 'bullmq';
import type { Redis } from 'ioredis';

/** What a handler makes of a job. Anything it throws counts as `failed`. */
export type JobOutcome =
  | { kind: 'done' }
  /** Back into the queue, behind its peers; costs no attempt. */
  | { kind: 'later'; delayMs: number }
  | { kind: 'failed'; error: Error };

/** One handler per job of the catalogue: a missing one does not compile. */
export type JobHandlers = { [Name in JobName]: (payload: JobPayloads[Name]) => Promise<JobOutcome> };

export interface Consumer {
  /** Takes no more work and waits for the handlers, which must be told to end by their owner first. */
  close(): Promise<void>;
}

export interface ConsumerOptions {
  /** Shared; the Worker adds one blocking connection of its own. Must wait for Redis (`maxRetriesPerRequest: null`). */
  connection: Redis;
  space: KeySpace;
  address: DeviceAddress;
  handlers: JobHandlers;
  /** High: a handler only waits for its send. */
  concurrency: number;
  logger: Logger;
}

/**
 * After a SIGKILL, BullMQ gives a job out again when its lock has ended and a check has seen it. Nobody waits for that:
 * the next owner adds jobs of its own. With a thousand queues in a process, checks should be rare.
 */
const LOCK_MS = 15_000;
const STALLED_CHECK_MS = 15_000;
/** BullMQ never resets its count of stalls, so with its default the third kill in the life of a list would fail it. */
const UNLIMITED_STALLS = 1_000_000_000;
/** An idle Worker asks Redis this seldom; a new job wakes it at once. */
const DRAIN_DELAY_SECONDS = 30;

/** Works on the queue of one device, in the process that holds its ownership. */
export function createConsumer(options: ConsumerOptions): Consumer {
  const worker = new Worker(queueName(options.address), (job, token) => work(options, job, token), {
    connection: options.connection,
    prefix: queuePrefix(options.space),
    concurrency: options.concurrency,
    lockDuration: LOCK_MS,
    stalledInterval: STALLED_CHECK_MS,
    maxStalledCount: UNLIMITED_STALLS,
    drainDelay: DRAIN_DELAY_SECONDS,
    removeOnComplete: { count: 0 },
    removeOnFail: { count: 100 },
  });
  worker.on('error', (error) => options.logger.debug('queue worker error', { error }));
  worker.on('failed', (job, error) => {
    options.logger.error('job failed', { jobId: job?.id, requestId: job?.data?.requestId, error });
  });
  return { close: () => worker.close() };
}

async function work({ handlers }: ConsumerOptions, job: Job, token: string | undefined): Promise<void> {
  const outcome = await handle(handlers, job);
  if (outcome.kind === 'failed') throw new UnrecoverableError(outcome.error.message);
  if (outcome.kind === 'done') return;
  // Not `moveToWait`: it puts a job in front of its peers and starves them.
  await job.moveToDelayed(Date.now() + outcome.delayMs, token);
  throw new DelayedError();
}

/** Payloads are validated again: old ones, and ones that others wrote, are expected. */
async function handle(handlers: JobHandlers, job: Job): Promise<JobOutcome> {
  if (!Object.hasOwn(handlers, job.name)) return { kind: 'failed', error: new Error('no such kind of job') };
  const name = job.name as JobName;
  const { value, error } = JOB_SCHEMAS[name].validate(job.data, { errors: { wrap: { label: false } } });
  if (error) return { kind: 'failed', error: new Error(`invalid payload: ${error.message}`) };
  return handlers[name](value).catch((thrown: unknown) => ({ kind: 'failed', error: toError(thrown) }));
}
