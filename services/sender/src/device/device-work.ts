import type { SendJob } from '@gateway/contracts/jobs';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import { type Device, readDevice } from '@gateway/store/devices/devices';
import { OptOutJoins } from '@gateway/store/workspace/opt-out-joins';
import type { DeviceDeps, ProcessDeps } from '../deps.js';
import { MediaUploads } from '../preparing/media-uploads.js';
import { DeviceScheduler } from '../scheduling/device-scheduler.js';
import type { PlaceCounts } from '../scheduling/places.js';
import { takeInOpenSends } from './open-sends.js';
import { QuestionDesk } from './question-desk.js';
import { SessionPruner } from './session-pruner.js';

export interface WorkDeps extends ProcessDeps, DeviceDeps {
  device: Device;
  /** See `SchedulerDeps`. */
  isCareful(): boolean;
  forgetPerson(number: string): Promise<Record<string, number>>;
  onStalled(session: MessengerSession): void;
}

/** What tells of a send: of a code the doorbell comes first. */
export type WokenBy = 'queue' | 'doorbell';

/** Each comes within a moment, or is lost. */
const MAX_JOBS_TO_COME = 100;

/** The sends of one device, and what else its owner does for it. */
export class DeviceWork {
  readonly scheduler: DeviceScheduler;
  private readonly pruner: SessionPruner;
  private readonly desk: QuestionDesk;
  readonly joins: OptOutJoins;
  /** Of codes that a doorbell told of. */
  private readonly jobsToCome = new Set<string>();
  private lastRefresh: Promise<void> = Promise.resolve();
  private nextRefresh: Promise<void> | undefined;

  constructor(private readonly deps: WorkDeps) {
    this.scheduler = new DeviceScheduler({
      ...deps,
      pace: deps.device.pace ?? deps.defaultPace,
      uploads: new MediaUploads(deps),
    });
    this.pruner = new SessionPruner(deps);
    this.joins = new OptOutJoins(deps);
    const { store, ownership, clock, logger, onFailed } = deps;
    this.desk = new QuestionDesk({
      store,
      ownership,
      clock,
      logger,
      onFailed,
      forgetPerson: (number) => {
        this.joins.forget(number);
        this.scheduler.dropPerson(number);
        return deps.forgetPerson(number);
      },
    });
  }

  /** Jobs come from now on: what was accepted before is found here. */
  async start(): Promise<void> {
    await this.scheduler.hold.load();
    await this.compareSends();
    this.desk.look();
  }

  /** The job of a code that a doorbell told of brings nothing new. */
  async takeJob(job: SendJob, by: WokenBy = 'queue'): Promise<void> {
    if (by === 'doorbell') this.expectJob(job);
    else if (this.jobsToCome.delete(job.messageId)) return;
    await this.scheduler.sends.takeIn(job);
  }

  private expectJob({ messageId }: SendJob): void {
    this.jobsToCome.add(messageId);
    const [oldest] = this.jobsToCome;
    if (this.jobsToCome.size > MAX_JOBS_TO_COME) this.jobsToCome.delete(oldest!);
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

  /** An operator may have given the device another pace, and the doorbell that told of it may be lost. */
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

  countPlaces(counts: PlaceCounts): void {
    this.scheduler.sends.countPlaces(counts);
  }

  /** It works on no sends. */
  get isIdle(): boolean {
    return this.scheduler.sends.inTurn().length === 0;
  }

  /** Deletes a few unused keys. Called often. */
  prune(): Promise<void> {
    return this.pruner.tick();
  }

  private async compareSends(): Promise<void> {
    await this.scheduler.refresh();
    await takeInOpenSends(this.scheduler.sends, this.deps);
  }

  /** A connection to Redis is there again: it may have forgotten something. */
  distrustRedis(): void {
    this.scheduler.sends.distrustRedis();
    this.scheduler.hold.distrustRedis();
  }

  /** Another process has a question for the owner. */
  answerQuestions(): void {
    this.desk.look();
  }

  /** No more messages; resolves when the last acks are in, or late. See `DeviceScheduler`. */
  async stop(how?: { hasFailed: boolean }): Promise<void> {
    this.desk.stop();
    await this.scheduler.stop(how);
  }
}
