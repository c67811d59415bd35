import type { SendJob } from '@gateway/contracts/jobs';
import type { Pace } from '@gateway/contracts/pace';
import type { PlatformIds } from '@gateway/contracts/platform-id';
import type { OwnRecipientError } from '@gateway/contracts/recipient-errors';
import type { AckOutcome } from '@gateway/messenger/ack-outcomes';
import { SessionEndedError } from '@gateway/messenger/session-errors';
import type { LookUpResult, MessengerSession } from '@gateway/messenger/session-types';
import type { JobOutcome } from '@gateway/queue/consumer';
import type { Clock } from '@gateway/runtime/clock';
import { runInContext } from '@gateway/runtime/context';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logger';
import { claimRecipient, eraseSpentOtps, expireSends, takePace } from '@gateway/store/change-send';
import { ringDoorbell } from '@gateway/store/doorbells';
import type { HeldLease } from '@gateway/store/lease-keeper';
import { readSend } from '@gateway/store/read-send';
import type { Store } from '@gateway/store/store';
import { dropOptedOut, failUnsent, hasOptedOut } from './drop-opted-out.js';
import { failRecipients, loadSend } from './load-send.js';
import type { MediaUploads } from './media-uploads.js';
import type { OpenSend, WorkItem } from './open-send.js';
import type { ResultWriter } from './result-writer.js';
import type { SenderMetrics } from './sender-metrics.js';
import { WakeUp } from './wake-up.js';

export interface SchedulerDeps {
  store: Store;
  lease: HeldLease;
  clock: Clock;
  logger: Logger;
  metrics: SenderMetrics;
  ids: PlatformIds;
  pace: Pace;
  results: ResultWriter;
  uploads: MediaUploads;
  /** A write was refused, or failed in a way that leaves us unsure of our lease: the owner must end. */
  onFailed(error: Error): void;
  /** An ack did not come in time: this session is not to be trusted any more. */
  onStalled(session: MessengerSession): void;
}

/** So that of 200 slots of the queue worker an OTP always finds one. */
const MAX_OPEN_LISTS = 150;
const LATER_MS = 5_000;
/** The library serialises sends on one mutex: one at work and one behind it keep it busy. */
const MAX_RELAYS = 2;
/** Messages written and not yet acknowledged. */
const MAX_UNACKED = 64;
const LOOK_UP_BATCH = 100;
const MAX_LOOK_UPS = 4;
const LAST_ACKS_MS = 500;

/**
 * Decides, message by message, what the device sends next: OTPs first, then the open lists in turn. Before each
 * message it asks the pace, and claims the recipient in Redis, which also checks lease, cancel, expiry, and
 * whether they have opted out.
 *
 * Without a session (before the first, between two) everything waits. `stop` is final.
 */
export class DeviceScheduler {
  private readonly open = new Map<string, OpenSend>();
  private readonly loading = new Set<string>();
  private readonly wakeUp = new WakeUp();
  private session: MessengerSession | undefined;
  private relays = 0;
  private unacked = 0;
  /** When the network last said anything of a message, by the monotonic clock. */
  private answeredAtMs = 0;
  private lookUps = 0;
  private stopped = false;
  private pace: Pace;

  constructor(private readonly deps: SchedulerDeps) {
    this.pace = deps.pace;
    void this.pump().catch((error: unknown) => deps.onFailed(toError(error)));
  }

  attach(session: MessengerSession): void {
    this.session = session;
    this.wakeUp.ring();
  }

  /** From the next message on. */
  keepPace(pace: Pace): void {
    this.pace = pace;
  }

  detach(): void {
    this.session = undefined;
    for (const send of this.open.values()) send.forgetLookUps();
  }

  has(messageId: string): boolean {
    return this.open.has(messageId) || this.loading.has(messageId);
  }

  /** Works on a send until nothing is left to do, or until this owner ends. */
  async handleJob(job: SendJob): Promise<JobOutcome> {
    if (this.stopped) return { kind: 'later', delayMs: 0 };
    if (this.has(job.messageId)) return { kind: 'done' };
    if (job.priority !== 'otp' && this.open.size + this.loading.size >= MAX_OPEN_LISTS)
      return { kind: 'later', delayMs: LATER_MS };
    return runInContext({ requestId: job.requestId, messageId: job.messageId, device: job.device }, () =>
      this.work(job),
    );
  }

  /** Looks at cancels and expiries. Called on each tick and doorbell. */
  async refresh(): Promise<void> {
    const { store, lease, clock } = this.deps;
    for (const messageId of await expireSends(store, lease, clock.nowMs())) this.open.get(messageId)?.dropWaiting();
    await eraseSpentOtps(store, lease.address, clock.nowMs());
    for (const send of this.open.values()) {
      const record = await readSend(store, lease.address, send.messageId);
      if (!record || record.cancelledAtMs) send.dropCancelled();
    }
    this.finishDone();
    this.wakeUp.ring();
  }

  /** Takes no more work, waits a moment for acks that are under way, and gives all jobs back. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.wakeUp.ring();
    const deadlineMs = this.deps.clock.monotonicMs() + LAST_ACKS_MS;
    while (this.unacked > 0 && this.deps.clock.monotonicMs() < deadlineMs) await this.wakeUp.wait(20);
    this.detach();
    for (const send of this.open.values()) send.finish();
    this.open.clear();
  }

  private async work(job: SendJob): Promise<JobOutcome> {
    this.loading.add(job.messageId);
    try {
      const finished = await new Promise<boolean>((resolve, reject) => {
        loadSend(this.deps, job.messageId, () => resolve(true)).then((send) => {
          if (!send) return resolve(false);
          if (this.stopped) return resolve(true);
          this.open.set(send.messageId, send);
          this.loading.delete(send.messageId);
          this.finishDone();
          this.wakeUp.ring();
        }, reject);
      });
      return finished && this.stopped ? { kind: 'later', delayMs: 0 } : { kind: 'done' };
    } finally {
      this.loading.delete(job.messageId);
    }
  }

  private async pump(): Promise<void> {
    while (!this.stopped) {
      const session = this.session;
      if (session) this.lookAhead(session);
      if (session) this.startUploads(session);
      if (!session || this.relays >= MAX_RELAYS || this.unacked >= MAX_UNACKED || !this.anyReady()) {
        await this.wakeUp.wait(1_000);
        continue;
      }
      const waitMs = await takePace(this.deps.store, this.deps.lease, {
        pace: this.pace,
        nowMs: this.deps.clock.nowMs(),
      });
      if (waitMs > 0) await this.wakeUp.wait(waitMs);
      else this.sendNext(session);
    }
  }

  private sendNext(session: MessengerSession): void {
    const item = this.pickNext();
    if (!item) return;
    this.relays++;
    void this.relay(session, item)
      .catch((error: unknown) => this.deps.onFailed(toError(error)))
      .finally(() => {
        this.relays--;
        this.wakeUp.ring();
      });
  }

  private async relay(session: MessengerSession, item: WorkItem): Promise<void> {
    const { store, lease, clock, ids, logger } = this.deps;
    const { send, recipient, part, to, content } = item;
    // Both in one round trip, and the list after the mark: whoever opts out before it gets nothing.
    const [claim, optedOut] = await Promise.all([
      claimRecipient(store, lease, { tag: send.tag, recipient, part, nowMs: clock.nowMs() }),
      hasOptedOut(this.deps, send, [to, session.numberOf(to)]),
    ]);
    if (claim !== 'claimed') return this.skip(item, claim);
    if (optedOut) {
      await failUnsent(this.deps, send, recipient, 'recipient_opted_out');
      return this.finishDone();
    }
    const platformId = ids.make({ tag: send.tag, recipient, part });
    try {
      const { ack } = await session.send({ to, platformId, content });
      this.awaitAck(session, item, ack);
    } catch (thrown) {
      // The next session takes it up at once; another failure is about this one message, and waits.
      if (thrown instanceof SessionEndedError) return this.comeBack(item, () => send.putBack([recipient]));
      logger.warn('message not written', { messageId: send.messageId, error: toError(thrown) });
      await this.comeBack(item, () => send.retryLater(recipient, clock.nowMs()));
    }
  }

  private awaitAck(session: MessengerSession, item: WorkItem, ack: Promise<AckOutcome>): void {
    const { clock } = this.deps;
    const writtenAtMs = clock.monotonicMs();
    this.unacked++;
    void ack
      .then((outcome) => {
        // A session on which later messages were answered is alive: then it is this one message that is not.
        if (outcome.kind !== 'unacknowledged') this.answeredAtMs = clock.monotonicMs();
        else if (this.answeredAtMs <= writtenAtMs) this.deps.onStalled(session);
        return this.settle(item, outcome);
      })
      .catch((error: unknown) => this.deps.onFailed(toError(error)))
      .finally(() => {
        this.unacked--;
        this.wakeUp.ring();
      });
  }

  private async settle(item: WorkItem, outcome: AckOutcome): Promise<void> {
    const { clock, results, metrics, logger } = this.deps;
    const { send, recipient, part } = item;
    metrics.countAck(outcome.kind);
    switch (outcome.kind) {
      case 'accepted':
        await results.write(send.tag, { recipient, part, event: 'acked' });
        metrics.observeAck(send.record.kind, clock.nowMs() - send.record.createdAtMs);
        logger.debug('message acknowledged', {
          messageId: send.messageId,
          requestId: send.record.requestId,
          recipientIndex: recipient,
        });
        send.acceptedPart(recipient, part);
        break;
      case 'refused':
      case 'restricted':
        await results.write(send.tag, { recipient, part, event: 'failed', errorCode: outcome.code });
        logger.warn('message refused by the network', {
          messageId: send.messageId,
          recipientIndex: recipient,
          networkCode: outcome.code,
        });
        send.settled(recipient);
        break;
      case 'retryLater':
      case 'staleDevices':
        await this.comeBack(item, () => send.retryLater(recipient, clock.nowMs()));
        break;
      case 'unacknowledged':
        // It may have arrived. The same id goes out again on the next session, and the phone drops the double.
        send.unanswered(recipient, clock.nowMs());
        break;
    }
    this.finishDone();
  }

  /** This try reached nobody, and Redis is told so: a cancel that came meanwhile, or comes now, ends it. */
  private async comeBack({ send, recipient, part }: WorkItem, tryAgain: () => void): Promise<void> {
    const status = await this.deps.results.write(send.tag, { recipient, part, event: 'returned' });
    if (status === 'queued') tryAgain();
    else send.settled(recipient);
    this.finishDone();
  }

  private async skip({ send, recipient, part }: WorkItem, claim: 'settled' | 'cancelled' | 'expired'): Promise<void> {
    // A receipt for a former owner's try may have settled this part and not the next.
    if (claim === 'settled') send.acceptedPart(recipient, part);
    else send.settled(recipient);
    if (claim === 'cancelled') send.dropCancelled();
    if (claim === 'expired') await this.refresh();
    this.finishDone();
  }

  /** Keeps recipients of every open send looked up, a batch ahead of what is sent. */
  private lookAhead(session: MessengerSession): void {
    for (const send of this.inTurn()) {
      if (this.lookUps >= MAX_LOOK_UPS && send.record.kind !== 'otp') return;
      const batch = send.takeForLookUp(this.lookUpLimit(), this.deps.clock.nowMs());
      if (batch.length === 0) continue;
      this.lookUps++;
      send.lookingUp = true;
      void this.lookUp(session, send, batch)
        .catch((error: unknown) => this.deps.onFailed(toError(error)))
        .finally(() => {
          this.lookUps--;
          send.lookingUp = false;
          this.finishDone();
          this.wakeUp.ring();
        });
    }
  }

  /** Under a slow pace, no more than what goes out within a minute: an answer should be fresh when it is used. */
  private lookUpLimit(): number {
    const { messagesPerMinute } = this.pace;
    return messagesPerMinute === 0 ? LOOK_UP_BATCH : Math.min(LOOK_UP_BATCH, Math.ceil(messagesPerMinute));
  }

  private async lookUp(
    session: MessengerSession,
    send: OpenSend,
    upcoming: { index: number; to: string }[],
  ): Promise<void> {
    const { clock, logger } = this.deps;
    const batch = await dropOptedOut(this.deps, send, upcoming);
    const found = await session.lookUp(batch.map(({ to }) => to)).catch((thrown: unknown) => {
      logger.warn('look-up failed', { messageId: send.messageId, error: toError(thrown) });
      return new Map<string, LookUpResult>();
    });
    const ready: number[] = [];
    for (const { index, to } of batch) {
      const result = found.get(to);
      if (result && 'exists' in result && result.exists) ready.push(index);
      else if (result && 'exists' in result) await failUnsent(this.deps, send, index, 'not_on_messenger');
      else if (this.session === session) send.retryLater(index, clock.nowMs());
      else send.putBack([index]);
    }
    if (this.session === session) send.addReady(ready);
    else send.putBack(ready);
  }

  /** Files go to the network while recipients are looked up; one upload serves them all. */
  private startUploads(session: MessengerSession): void {
    for (const send of this.open.values()) {
      if (send.uploading || !send.mayUpload(this.deps.clock.nowMs())) continue;
      send.uploading = true;
      void this.upload(session, send)
        .catch((error: unknown) => this.deps.onFailed(toError(error)))
        .finally(() => {
          send.uploading = false;
          this.finishDone();
          this.wakeUp.ring();
        });
    }
  }

  private async upload(session: MessengerSession, send: OpenSend): Promise<void> {
    const { uploads, clock, logger } = this.deps;
    if (send.content.kind !== 'media') return;
    const fields = { messageId: send.messageId, requestId: send.record.requestId };
    const outcome = await uploads
      .ensure(session, send, send.content)
      .catch((thrown: unknown) => ({ kind: 'failed' as const, error: toError(thrown) }));
    switch (outcome.kind) {
      case 'uploaded':
        return send.uploaded(outcome.upload);
      case 'unreadable':
        logger.error('attachment cannot be read', { ...fields, error: outcome.error });
        return this.giveUp(send, 'attachment_unreadable');
      case 'failed':
        // Without this session it could not have gone well: that was no try.
        if (this.session !== session) return;
        logger.warn('attachment not uploaded', { ...fields, error: outcome.error });
        if (!send.retryUpload(clock.nowMs())) return this.giveUp(send, 'attachment_not_uploaded');
    }
  }

  /** Nobody has got anything of this send by us, and nobody will. */
  private async giveUp(send: OpenSend, error: OwnRecipientError): Promise<void> {
    const unsent = send.takeUnsent();
    this.deps.metrics.countUnsent(error, unsent.length);
    await failRecipients(this.deps, send.record, unsent, error);
  }

  private anyReady(): boolean {
    for (const send of this.open.values()) if (send.hasReady) return true;
    return false;
  }

  private pickNext(): WorkItem | undefined {
    for (const send of this.inTurn()) {
      const item = send.takeReady();
      if (!item) continue;
      // To the back of the map: the next list has its turn.
      this.open.delete(send.messageId);
      this.open.set(send.messageId, send);
      return item;
    }
    return undefined;
  }

  private inTurn(): OpenSend[] {
    const sends = [...this.open.values()];
    return [
      ...sends.filter(({ record }) => record.kind === 'otp'),
      ...sends.filter(({ record }) => record.kind !== 'otp'),
    ];
  }

  private finishDone(): void {
    for (const send of this.open.values()) {
      if (!send.isDone || send.lookingUp) continue;
      this.open.delete(send.messageId);
      this.deps.logger.info('send finished', { messageId: send.messageId, requestId: send.record.requestId });
      send.finish();
      if (send.record.kind === 'otp')
        void ringDoorbell(this.deps.store, { topic: 'results', ...this.deps.lease.address });
    }
  }
}
