import type { DesiredState, ObservedState, Reason, Want } from '@gateway/contracts/device-state';
import type { DeviceAddress } from '@gateway/contracts/ids';
import type { Pace } from '@gateway/contracts/pace';
import { type PlatformIds, platformIds } from '@gateway/contracts/platform-id';
import type { DisconnectOutcome } from '@gateway/messenger/disconnect-outcomes';
import { openSession } from '@gateway/messenger/open-session';
import { createSessionCaches, type SessionCaches } from '@gateway/messenger/session-caches';
import { KeysUnreadableError } from '@gateway/messenger/session-errors';
import type { MessengerSession, SessionEvents } from '@gateway/messenger/session-types';
import type { Endpoint } from '@gateway/messenger/trust';
import { type Consumer, createConsumer } from '@gateway/queue/consumer';
import type { Producer } from '@gateway/queue/producer';
import { type Clock, sleep } from '@gateway/runtime/clock';
import { FencedError, toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logger';
import { dropAbandonedSends } from '@gateway/store/accept-send';
import { deviceKeyStore, retireKeys } from '@gateway/store/device-keys';
import { readDeviceState, recordObserved } from '@gateway/store/device-state';
import { readDevice } from '@gateway/store/devices';
import { ringDoorbell } from '@gateway/store/doorbells';
import type { HeldLease, LeaseKeeper } from '@gateway/store/lease-keeper';
import { recordReceived } from '@gateway/store/received-messages';
import type { Store } from '@gateway/store/store';
import { type AfterClose, decideAfterClose } from './decide-after-close.js';
import { DeviceScheduler } from './device-scheduler.js';
import { MediaUploads } from './media-uploads.js';
import { messageOf } from './message-of.js';
import { recordLateRefusal, recordReceipt } from './receipts.js';
import { ReconnectBackoff } from './reconnect-backoff.js';
import { ReplacedCount } from './replaced-count.js';
import { ResultWriter } from './result-writer.js';
import type { SenderMetrics } from './sender-metrics.js';
import type { UploadSlots } from './upload-slots.js';
import { WakeJobs } from './wake-jobs.js';
import { WakeUp } from './wake-up.js';

export interface OwnerDeps {
  store: Store;
  keeper: LeaseKeeper;
  producer: Producer;
  clock: Clock;
  logger: Logger;
  metrics: SenderMetrics;
  endpoint: Endpoint;
  defaultPace: Pace;
  ackTimeoutMs: number;
  /** Shared by all devices of the process. */
  uploadSlots: UploadSlots;
}

export type OwnerState = 'opening' | 'open' | 'waiting' | 'ended';

const LOG_OUT_MS = 5_000;
const QUEUE_CONCURRENCY = 200;
const CONSUMER_CLOSE_MS = 2_000;
const AFTER_STALL: AfterClose = { kind: 'reopen', reason: 'network', minMs: 0 };

/**
 * Owns one device in this process, from the lease to its release:
 *
 *   opening -> open -> waiting (for the backoff) -> opening -> ... -> ended
 *
 * It ends when the lease is lost, when the device is not to be linked any more, or when it is told to hand over.
 * Nothing is remembered across ownerships but what is in Redis.
 */
export class DeviceOwner {
  state: OwnerState = 'opening';
  /** Resolves when the lease is given back, or lost. */
  readonly ended: Promise<void>;
  /** It ended for a reason that may still be there: claiming the device again at once would be of no use. */
  failed = false;
  private readonly address: DeviceAddress;
  private readonly logger: Logger;
  private readonly results: ResultWriter;
  private readonly caches: SessionCaches = createSessionCaches();
  private readonly backoff: ReconnectBackoff;
  private readonly replaced: ReplacedCount;
  private readonly wakeUp = new WakeUp();
  private readonly wakeJobs: WakeJobs;
  private ids!: PlatformIds;
  private scheduler: DeviceScheduler | undefined;
  private session: MessengerSession | undefined;
  private closed: DisconnectOutcome | undefined;
  private account: { phone: string; name?: string } | undefined;
  private profilePic: string | undefined;
  /** We closed the socket to open another one. */
  private rebuilding = false;
  private ending = false;

  constructor(
    private readonly deps: OwnerDeps,
    private readonly lease: HeldLease,
  ) {
    const { store, clock, producer } = deps;
    this.address = lease.address;
    this.logger = deps.logger.child({ device: lease.address.device, epoch: lease.epoch });
    this.results = new ResultWriter({ store, lease, clock });
    this.backoff = new ReconnectBackoff(clock.monotonicMs);
    this.replaced = new ReplacedCount(clock.monotonicMs);
    this.wakeJobs = new WakeJobs({ store, producer, lease, clock, logger: this.logger });
    lease.lost.addEventListener('abort', () => this.wakeUp.ring(), { once: true });
    this.ended = this.run();
  }

  /** Something may have changed: called on doorbells. */
  look(): void {
    this.wakeUp.ring();
    void this.refreshPace();
    void this.refreshSends();
  }

  /** An operator may have given the device another pace. */
  private async refreshPace(): Promise<void> {
    const device = await readDevice(this.deps.store, this.address).catch(() => undefined);
    if (device) this.scheduler?.keepPace(device.pace ?? this.deps.defaultPace);
  }

  /** Each tick: sends in Redis are compared with what this process works on. */
  async refreshSends(): Promise<void> {
    const { scheduler } = this;
    if (!scheduler || this.mustEnd()) return;
    try {
      await dropAbandonedSends(this.deps.store, this.address, {
        nowMs: this.deps.clock.nowMs(),
        hasJob: (messageId) => this.deps.producer.hasSend(this.address, messageId),
      });
      await scheduler.refresh();
      await this.wakeJobs.addMissing((messageId) => scheduler.has(messageId));
    } catch (thrown) {
      this.fail(toError(thrown));
    }
  }

  /** Gives the device to whoever claims it next; the list in flight goes over with the same ids. */
  async handOver(): Promise<void> {
    this.ending = true;
    this.wakeUp.ring();
    await this.ended;
  }

  private async run(): Promise<void> {
    let consumer: Consumer | undefined;
    try {
      consumer = await this.startWork();
      await this.keepOpen();
    } catch (thrown) {
      this.fail(toError(thrown));
    } finally {
      await this.release(consumer);
      this.state = 'ended';
    }
  }

  private async startWork(): Promise<Consumer> {
    const { store, clock, metrics, defaultPace } = this.deps;
    const device = await readDevice(store, this.address);
    if (!device) throw new Error('a linked device without a record');
    this.ids = platformIds(device.idKey);
    const scheduler = new DeviceScheduler({
      ...{ store, clock, metrics, lease: this.lease, logger: this.logger, ids: this.ids, results: this.results },
      uploads: new MediaUploads({ store, clock, lease: this.lease, slots: this.deps.uploadSlots }),
      pace: device.pace ?? defaultPace,
      onFailed: (error) => this.fail(error),
      onStalled: (session) => this.rebuild(session),
    });
    this.scheduler = scheduler;
    // Jobs first: a queue worker takes what is there without being woken. A wake-up could still go to the connection of
    // a frozen former owner.
    await this.refreshSends();
    return createConsumer({
      connection: store.redis,
      space: store.space,
      address: this.address,
      handlers: { send: (job) => scheduler.handleJob(job) },
      concurrency: QUEUE_CONCURRENCY,
      logger: this.logger,
    });
  }

  /** Opens one socket after the other until it must end, or the device is not wanted any more. */
  private async keepOpen(): Promise<void> {
    while (!this.mustEnd()) {
      const { desired, hasKeys } = await readDeviceState(this.deps.store, this.address);
      if (desired?.want !== 'linked') return this.letGo(desired);
      if (!hasKeys) return this.unlink(desired, 'logged_out', false);
      if (!this.session && !this.closed) await this.open(desired);
      if (this.closed) await this.afterClose(desired, this.closed);
      else await this.wakeUp.wait(1_000);
    }
  }

  private async open(desired: DesiredState): Promise<void> {
    this.state = 'opening';
    this.closed = undefined;
    try {
      this.session = await this.openSocket(desired);
    } catch (thrown) {
      if (!(thrown instanceof KeysUnreadableError)) throw thrown;
      this.closed = { kind: 'keysUnreadable' };
    }
  }

  private openSocket(desired: DesiredState): Promise<MessengerSession> {
    const { store, endpoint, ackTimeoutMs } = this.deps;
    return openSession({
      keyStore: deviceKeyStore(store, this.lease),
      caches: this.caches,
      endpoint,
      logger: this.logger,
      getMessage: (platformId) => messageOf({ store, address: this.address, ids: this.ids }, platformId),
      assertMayWrite: () => this.lease.assertHeld(),
      ackTimeoutMs,
      events: this.sessionEvents(desired),
    });
  }

  private sessionEvents(desired: DesiredState): SessionEvents {
    const receiptDeps = { ids: this.ids, results: this.results };
    const guarded = (work: Promise<unknown>) => void work.catch((thrown: unknown) => this.fail(toError(thrown)));
    return {
      onCode: () => {},
      onLinked: () => {},
      onOpen: (account) => {
        this.account = account;
        guarded(this.opened(desired));
      },
      onReceipt: (receipt) => {
        this.deps.metrics.countReceipts(receipt.kind, receipt.platformIds.length);
        const recorded = recordReceipt(receiptDeps, receipt);
        guarded(recorded);
        // The network repeats what we do not confirm: a receipt survives the end of this process.
        return recorded;
      },
      onMessage: (message) => {
        const { store, clock } = this.deps;
        guarded(recordReceived(store, this.lease, { message, nowMs: clock.nowMs() }));
      },
      onLateRefusal: (refusal) => guarded(recordLateRefusal(receiptDeps, refusal)),
      onRenamed: (name) => {
        if (this.account) this.account.name = name;
        guarded(this.showProfile(desired));
      },
      onClosed: (outcome) => {
        this.scheduler?.detach();
        this.session = undefined;
        this.closed = outcome;
        this.wakeUp.ring();
      },
    };
  }

  /** The socket is open and the network does not answer on it: another one may be better. Safe to repeat. */
  private rebuild(session: MessengerSession): void {
    if (this.session !== session) return;
    this.rebuilding = true;
    this.scheduler?.detach();
    void session.close();
  }

  private async opened(desired: DesiredState): Promise<void> {
    const { session } = this;
    if (!session) return;
    this.state = 'open';
    this.backoff.opened();
    this.logger.info('device connected');
    await this.showProfile(desired);
    if (this.session !== session) return;
    this.scheduler?.attach(session);
    this.profilePic = await session.fetchProfilePicture().catch(() => undefined);
    if (this.profilePic && this.session === session) await this.showProfile(desired);
  }

  private async showProfile(desired: DesiredState): Promise<void> {
    const { account, profilePic } = this;
    if (!account || this.state !== 'open') return;
    const profile = { phone: account.phone, name: account.name ?? account.phone, ...(profilePic && { profilePic }) };
    await this.observe(desired, { status: 'connected', ...profile });
  }

  private async afterClose(desired: DesiredState, outcome: DisconnectOutcome): Promise<void> {
    this.closed = undefined;
    // A socket that the network ended leaves messages without an ack too: then the network's reason counts.
    const stalled = this.rebuilding && outcome.kind === 'closedByUs';
    this.rebuilding = false;
    const next = stalled ? AFTER_STALL : decideAfterClose(outcome, this.deps.clock.nowMs());
    this.deps.metrics.countDisconnect(stalled ? 'stalled' : outcome.kind);
    this.logger.warn('socket ended', {
      outcome: stalled ? 'stalled' : outcome.kind,
      next: next.kind,
      ...('code' in outcome && { networkCode: outcome.code }),
    });
    if (next.kind === 'release' || this.mustEnd()) return this.endSoon();
    if (next.kind === 'unlink') return this.unlink(desired, next.reason, next.quarantine);
    if (next.kind === 'reopen' && outcome.kind === 'replaced' && this.replaced.isTooOften()) {
      return this.unlink(desired, 'replaced', true);
    }
    if (next.kind === 'reopen') await this.pause(desired, next);
  }

  /** Waits for the backoff; a doorbell that changes what is wanted ends the wait. */
  private async pause(desired: DesiredState, { reason, minMs }: { reason: Reason; minMs: number }): Promise<void> {
    const { clock, store } = this.deps;
    this.state = 'waiting';
    await this.observe(desired, { status: 'connecting', reason });
    const untilMs = clock.monotonicMs() + this.backoff.nextDelayMs(minMs);
    while (!this.mustEnd() && clock.monotonicMs() < untilMs) {
      await this.wakeUp.wait(Math.min(1_000, untilMs - clock.monotonicMs()));
      if ((await readDeviceState(store, this.address)).desired?.attemptId !== desired.attemptId) return;
    }
  }

  /**
   * The user wants no account here, or another one. With a socket open the network is told; without one the lease goes
   * to the connection service, which logs in to log out.
   */
  private async letGo(desired: DesiredState | undefined): Promise<void> {
    const { session } = this;
    this.endSoon();
    if (!session || this.state !== 'open') return;
    const confirmed = await session.logOut(LOG_OUT_MS).then(
      () => true,
      () => false,
    );
    await session.close();
    await retireKeys(this.deps.store, this.lease, { quarantine: false });
    if (desired?.want === 'unlinked') {
      const logout = confirmed ? ('confirmed' as const) : ('unconfirmed' as const);
      await this.observe(desired, { status: 'disconnected', reason: 'disconnected', logout });
    }
  }

  /** The account is gone from this device: said once, and for good. */
  private async unlink(desired: DesiredState, reason: Reason, quarantine: boolean): Promise<void> {
    this.endSoon();
    this.logger.error('device unlinked', { reason });
    await retireKeys(this.deps.store, this.lease, { quarantine });
    await this.observe(desired, { status: 'disconnected', reason }, 'unlinked');
  }

  private async observe(desired: DesiredState, observed: Omit<ObservedState, 'sinceMs'>, want?: Want): Promise<void> {
    const { store } = this.deps;
    const attempt = desired.attemptId ? { attemptId: desired.attemptId } : {};
    await recordObserved(store, this.lease, {
      actedOn: desired,
      observed: { ...observed, ...attempt },
      ...(want && { want }),
    });
    await ringDoorbell(store, { topic: 'observed', ...this.address });
  }

  /**
   * Lets go in an order in which the next owner waits for nothing but the last acks: no more work, the socket closed and
   * its keys written, then the lease. The queue worker ends behind it; jobs that it still takes are given back.
   */
  private async release(consumer: Consumer | undefined): Promise<void> {
    const { keeper, store } = this.deps;
    const { session } = this;
    await this.scheduler?.stop();
    const consumerClosed = consumer?.close().catch((thrown: unknown) => {
      this.logger.warn('queue worker not closed', { error: toError(thrown) });
    });
    await session
      ?.close()
      .catch((thrown: unknown) => this.logger.warn('session not closed', { error: toError(thrown) }));
    await keeper.release(this.lease);
    await ringDoorbell(store, { topic: 'lease', ...this.address });
    // A worker that cannot reach Redis must not keep us.
    await Promise.race([consumerClosed, sleep(CONSUMER_CLOSE_MS)]);
  }

  private fail(error: Error): void {
    if (this.state === 'ended') return;
    if (error instanceof FencedError) this.logger.warn('ownership lost', { error });
    else {
      this.failed = true;
      this.logger.error('owner failed, the device is given back', { error });
    }
    this.endSoon();
  }

  private endSoon(): void {
    this.ending = true;
    this.wakeUp.ring();
  }

  private mustEnd(): boolean {
    return this.ending || this.lease.lost.aborted;
  }
}
