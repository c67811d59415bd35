import type { MessengerSession } from '@gateway/messenger/session/session-types';
import { type Consumer, createConsumer } from '@gateway/queue/consumer';
import { sleep } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import { type Device, readDevice } from '@gateway/store/devices/devices';
import { OptOutJoins } from '@gateway/store/workspace/opt-out-joins';
import type { DeviceDeps, ProcessDeps } from '../deps.js';
import { MediaUploads } from '../preparing/media-uploads.js';
import { DeviceScheduler } from '../scheduling/device-scheduler.js';
import { QuestionDesk } from './question-desk.js';
import { SessionPruner } from './session-pruner.js';
import { WakeJobs } from './wake-jobs.js';

export interface WorkDeps extends ProcessDeps, DeviceDeps {
  device: Device;
  /** See `SchedulerDeps`. */
  isCareful(): boolean;
  forgetPerson(number: string): Promise<Record<string, number>>;
  onStalled(session: MessengerSession): void;
}

const QUEUE_CONCURRENCY = 200;
const CONSUMER_CLOSE_MS = 2_000;

/** The sends of one device: the worker of its queue, the scheduler that sends, and the sends that lost their job. */
export class DeviceWork {
  readonly scheduler: DeviceScheduler;
  private readonly wakeJobs: WakeJobs;
  private readonly pruner: SessionPruner;
  private readonly desk: QuestionDesk;
  readonly joins: OptOutJoins;
  private lastRefresh: Promise<void> = Promise.resolve();
  private nextRefresh: Promise<void> | undefined;
  private consumer: Consumer | undefined;
  private consumerClosed: Promise<void> | undefined;

  constructor(private readonly deps: WorkDeps) {
    this.scheduler = new DeviceScheduler({
      ...deps,
      uploads: new MediaUploads(deps),
      pace: deps.device.pace ?? deps.defaultPace,
    });
    this.wakeJobs = new WakeJobs(deps);
    this.pruner = new SessionPruner(deps);
    this.joins = new OptOutJoins(deps);
    this.desk = new QuestionDesk({
      ...deps,
      forgetPerson: (number) => {
        this.joins.forget(number);
        return deps.forgetPerson(number);
      },
    });
  }

  /** Jobs first: a worker takes what is there without being woken, and a wake-up may go to a frozen former owner. */
  async start(): Promise<void> {
    const { store, queueConnection, ownership, logger } = this.deps;
    await this.scheduler.hold.load();
    await this.compareSends({ isStart: true });
    this.consumer = createConsumer({
      connection: queueConnection,
      space: store.space,
      address: ownership.address,
      handlers: { send: (job) => this.scheduler.sends.handleJob(job) },
      concurrency: QUEUE_CONCURRENCY,
      logger,
    });
    this.desk.look();
  }

  attach(session: MessengerSession): void {
    this.scheduler.attach(session);
    this.desk.attach(session);
    this.joins.attach(session);
  }

  detach(): void {
    this.scheduler.detach();
    this.desk.detach();
    this.joins.detach();
  }

  /** An operator may have given the device another pace. */
  async refreshPace(): Promise<void> {
    const { store, ownership, defaultPace } = this.deps;
    const device = await readDevice(store, ownership.address).catch(() => undefined);
    if (device) this.scheduler.keepPace(device.pace ?? defaultPace);
  }

  /**
   * Compares the sends in Redis with what this process works on; who asks during a run shares the one behind it. Rejects
   * when Redis, or our ownership, is not there.
   */
  refreshSends(): Promise<void> {
    this.nextRefresh ??= this.lastRefresh
      .catch(() => {})
      .then(() => {
        this.nextRefresh = undefined;
        this.lastRefresh = this.compareSends();
        return this.lastRefresh;
      });
    return this.nextRefresh;
  }

  /** It works on no sends. */
  get isIdle(): boolean {
    return this.scheduler.sends.inTurn().length === 0;
  }

  /** Deletes a few unused keys. Called often. */
  prune(): Promise<void> {
    return this.pruner.tick();
  }

  private async compareSends(options: { isStart?: boolean } = {}): Promise<void> {
    await this.scheduler.refresh();
    await this.wakeJobs.addMissing(this.scheduler.sends, options);
  }

  /** Another process has a question for the owner. */
  answerQuestions(): void {
    this.desk.look();
  }

  /** No more messages; resolves when the last acks are in, or late. The worker takes no more jobs either. */
  async stop(): Promise<void> {
    // The worker first: it would take the jobs again that the scheduler gives back.
    this.consumerClosed = this.consumer?.close().catch((thrown: unknown) => {
      this.deps.logger.warn('queue worker not closed', { error: toError(thrown) });
    });
    this.desk.stop();
    await this.scheduler.stop();
  }

  /** Resolves when the worker has ended; one that cannot reach Redis does not keep us. */
  async ended(): Promise<void> {
    await Promise.race([this.consumerClosed, sleep(CONSUMER_CLOSE_MS)]);
  }
}
