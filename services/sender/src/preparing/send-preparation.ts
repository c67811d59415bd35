import type { Pace } from '@gateway/contracts/devices/pace';
import { type OwnRecipientError, ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import type { LookUpResult, MessengerSession } from '@gateway/messenger/session/session-types';
import { GatewayError, toError } from '@gateway/runtime/errors';
import type { DeviceDeps } from '../deps.js';
import type { FirstContactHold } from '../holding/first-contact-hold.js';
import type { NewContactHold } from '../holding/new-contact-hold.js';
import type { FailureLines } from '../reporting/failure-lines.js';
import type { ActiveSends } from '../scheduling/active-sends.js';
import type { HoldReason } from '../scheduling/former-attempts.js';
import type { SendProgress } from '../scheduling/send-progress.js';
import { dropOptedOut, failUnsent } from './drop-opted-out.js';
import { failRecipients } from './load-send.js';
import type { MediaUploads } from './media-uploads.js';

export interface PreparationDeps extends DeviceDeps {
  uploads: MediaUploads;
  sends: ActiveSends;
  hold: NewContactHold;
  firstContacts: FirstContactHold;
  failures: Pick<FailureLines, 'count'>;
  currentSession(): MessengerSession | undefined;
  currentPace(): Pace;
  /** Recipients or the file of this send are ready, or are not to be. */
  onPrepared(send: SendProgress): void;
}

interface Recipient {
  index: number;
  /** Digits. */
  to: string;
}

interface FailedLookUp {
  index: number;
  /** The network's, or the session's own. */
  code: number;
}

const NO_ANSWER = 408;
const LOOK_UP_BATCH = 100;
/** People of the device who are looked up at a time, in batches: the session asks about those of several sends together. */
const MAX_BATCHES = 4;

/** What happens to the recipients and the file of a send before its messages go out. */
export class SendPreparation {
  private lookedUp = 0;

  constructor(private readonly deps: PreparationDeps) {}

  /** Called with each message. */
  prepare(session: MessengerSession, options: { otpOnly: boolean }): void {
    const { unprepared } = this.deps.sends;
    if (unprepared.length === 0) return;
    this.lookAhead(session, unprepared, options);
    this.startUploads(session, unprepared);
  }

  /** Keeps recipients of every open send looked up, one or two batches ahead of what is sent. */
  private lookAhead(
    session: MessengerSession,
    sends: readonly SendProgress[],
    { otpOnly }: { otpOnly: boolean },
  ): void {
    const { limit, enough } = this.lookUpLimits();
    for (const send of sends) {
      if (!send.mayWait) continue;
      if ((otpOnly || this.lookedUp >= MAX_BATCHES * limit) && send.record.priority !== 'otp') return;
      const batch = send.takeForLookUp(limit, this.deps.clock.nowMs(), { enough });
      if (batch.length === 0) continue;
      this.lookedUp += batch.length;
      send.lookingUp += batch.length;
      void this.lookUp(session, send, batch)
        .catch((error: unknown) => this.deps.onFailed(toError(error)))
        .finally(() => {
          this.lookedUp -= batch.length;
          send.lookingUp -= batch.length;
          this.deps.onPrepared(send);
        });
    }
  }

  /**
   * Without a pace two batches are ready or looked up at a time: on a network that is far away the answers to the next one are on
   * their way while sessions of the one before are made, and messages sent. Under a slow one no more than a minute's worth, and half
   * of that later: an answer should be fresh when it is used.
   */
  private lookUpLimits(): { limit: number; enough: number } {
    const { messagesPerMinute } = this.deps.currentPace();
    if (messagesPerMinute === 0) return { limit: LOOK_UP_BATCH, enough: 2 * LOOK_UP_BATCH };
    const limit = Math.min(LOOK_UP_BATCH, Math.ceil(messagesPerMinute));
    return { limit, enough: limit / 2 };
  }

  private async lookUp(session: MessengerSession, send: SendProgress, batch: Recipient[]): Promise<void> {
    const holdsBefore = this.holdsOn();
    const allowed = await this.holdBackNew(session, send, await dropOptedOut(this.deps, send, batch));
    const wanted = await this.holdBackTokenless(session, send, allowed);
    const numbers = wanted.map(({ to }) => to);
    const found = await session.lookUp(numbers, { urgent: send.record.priority === 'otp' }).catch((thrown: unknown) => {
      this.noteAttempt(send, 'lookup failed', toError(thrown));
      return new Map<string, LookUpResult>();
    });
    const ready: number[] = [];
    const failed: FailedLookUp[] = [];
    for (const { index, to } of wanted) {
      const result = found.get(to) ?? { error: NO_ANSWER };
      if ('error' in result) failed.push({ index, code: result.error });
      else if (result.exists) ready.push(index);
      else await failUnsent(this.deps, send, index, 'not_on_messenger');
    }
    await this.noteLookedUp(send, ready);
    if (this.isCurrent(session)) await this.lookUpLater(send, failed);
    else send.putBack(failed.map(({ index }) => index));
    // They were let through before messages to new contacts had to wait.
    const isOutdated = this.holdsOn().some((reason) => !holdsBefore.includes(reason));
    if (this.isCurrent(session) && !isOutdated) send.addReady(ready);
    else send.putBack(ready);
  }

  /** After a pause that doubles; meanwhile those who look at the send see what its recipients wait for. */
  private async lookUpLater(send: SendProgress, failed: readonly FailedLookUp[]): Promise<void> {
    const { metrics, failures, results, clock } = this.deps;
    if (failed.length === 0) return;
    const sentence = 'recipient lookup failed, will retry';
    for (const { code } of failed) {
      metrics.countFailedLookUp(code);
      failures.count(send, { sentence, reason: code, fields: { networkCode: code }, nowMs: clock.nowMs() });
    }
    const errorCode = ownErrorCode('looked_up_again');
    await Promise.all(
      failed.map(async ({ index }) => {
        const status = await results.write(send.tag, { recipient: index, part: 0, event: 'held', errorCode });
        send.noteWait(index, 'looked_up_again');
        if (status === 'queued') send.retryLater(index, clock.nowMs());
        else send.settled(index);
      }),
    );
  }

  /** They wait for nothing but their turn any more. */
  private async noteLookedUp(send: SendProgress, recipients: readonly number[]): Promise<void> {
    const waited = recipients.filter((recipient) => send.endWait(recipient));
    const event = { part: 0, event: 'held', errorCode: 0 } as const;
    await Promise.all(waited.map((recipient) => this.deps.results.write(send.tag, { recipient, ...event })));
  }

  /** Under a restriction only acquaintances go on. Returns who does; strangers are not even looked up. */
  private async holdBackNew(session: MessengerSession, send: SendProgress, batch: Recipient[]): Promise<Recipient[]> {
    if (!this.deps.hold.isOn) return batch;
    const known = await this.findKnown(session, batch);
    if (!known) {
      send.putBack(batch.map(({ index }) => index));
      return [];
    }
    const strangers = batch.filter(({ to }) => !known.has(to));
    await this.holdBack(send, strangers);
    return batch.filter(({ to }) => known.has(to));
  }

  /** Without the salt only those go on whose own token can be shown; the others are not looked up before it is there. */
  private async holdBackTokenless(
    session: MessengerSession,
    send: SendProgress,
    batch: Recipient[],
  ): Promise<Recipient[]> {
    if (!this.deps.firstContacts.isOn || batch.length === 0) return batch;
    const givers = await session.findGivers(batch.map(({ to }) => to)).catch(() => undefined);
    if (!givers) {
      send.putBack(batch.map(({ index }) => index));
      return [];
    }
    const strangers = batch.filter(({ to }) => !givers.has(to));
    await this.holdBack(send, strangers, 'awaiting_history');
    return batch.filter(({ to }) => givers.has(to));
  }

  private holdsOn(): HoldReason[] {
    const { hold, firstContacts } = this.deps;
    return [
      ...(hold.isOn ? ['new_contacts_held' as const] : []),
      ...(firstContacts.isOn ? ['awaiting_history' as const] : []),
    ];
  }

  /** `undefined`: the session has ended, or will in a moment as its keys cannot be read. */
  private findKnown(session: MessengerSession, batch: Recipient[]): Promise<Set<string> | undefined> {
    const numbers = batch.map(({ to }) => to);
    return this.deps.hold.findKnown(session, numbers).catch(() => undefined);
  }

  /** They wait for the end of a restriction, or for the history, and those who look at the send see that. */
  async holdBack(
    send: SendProgress,
    recipients: readonly Recipient[],
    reason: HoldReason = 'new_contacts_held',
  ): Promise<void> {
    const fresh = recipients.filter(({ index }) => !send.waitsFor(index, reason));
    this.deps.metrics.countHeld(fresh.length);
    await Promise.all(
      recipients.map(async ({ index, to }) => {
        if (!send.waitsFor(index, reason) && !(await this.markHeld(send, index, reason))) send.settled(index);
        // While this was written the reason may have ended, or they may have written to us.
        else if (this.stillHolds(reason, to)) send.hold([index]);
        else send.putBack([index]);
      }),
    );
  }

  private stillHolds(reason: HoldReason, to: string): boolean {
    const { hold, firstContacts } = this.deps;
    return (reason === 'new_contacts_held' ? hold : firstContacts).holds(to);
  }

  /** `false`: it was cancelled meanwhile. */
  private async markHeld(send: SendProgress, recipient: number, reason: HoldReason): Promise<boolean> {
    const errorCode = ownErrorCode(reason);
    const status = await this.deps.results.write(send.tag, { recipient, part: 0, event: 'held', errorCode });
    // Also where it is not held after all: Redis says so until something else is written.
    send.noteWait(recipient, reason);
    return status === 'queued';
  }

  /** Files go to the network while recipients are looked up; one upload serves them all. */
  private startUploads(session: MessengerSession, sends: readonly SendProgress[]): void {
    const nowMs = this.deps.clock.nowMs();
    for (const send of sends) {
      if (!send.mayUpload(nowMs)) continue;
      send.file.uploading = true;
      void this.upload(session, send)
        .catch((error: unknown) => this.deps.onFailed(toError(error)))
        .finally(() => {
          send.file.uploading = false;
          this.deps.onPrepared(send);
        });
    }
  }

  private async upload(session: MessengerSession, send: SendProgress): Promise<void> {
    const { uploads, clock, logger } = this.deps;
    const content = send.kept.read();
    if (content.kind !== 'media') return;
    const fields = { messageId: send.messageId, requestId: send.record.requestId };
    const outcome = await uploads
      .ensure(session, send, content)
      .catch((thrown: unknown) => ({ kind: 'failed' as const, error: toError(thrown) }));
    switch (outcome.kind) {
      case 'uploaded':
        send.file.upload = outcome.upload;
        return;
      case 'unreadable':
        logger.error('attachment cannot be read', { ...fields, error: outcome.error });
        return this.giveUp(send, 'attachment_unreadable');
      case 'failed':
        // Without this session it could not have gone well: that was no attempt.
        if (!this.isCurrent(session)) return;
        this.noteAttempt(send, 'attachment not uploaded', outcome.error);
        if (!send.file.retry(clock.nowMs())) return this.giveUp(send, 'attachment_not_uploaded');
    }
  }

  /** One line for all attempts of a send that failed alike: they come again until it expires. */
  private noteAttempt(send: SendProgress, sentence: string, error: Error): void {
    const reason = error instanceof GatewayError ? error.code : error.name;
    const { failures, clock } = this.deps;
    failures.count(send, { sentence, reason, fields: { error }, nowMs: clock.nowMs(), of: 'attempts' });
  }

  /** No recipient has got anything of this send, and none will. */
  private async giveUp(send: SendProgress, error: OwnRecipientError): Promise<void> {
    await failRecipients(this.deps, send.record, send.takeUnsent(), error);
  }

  private isCurrent(session: MessengerSession): boolean {
    return this.deps.currentSession() === session;
  }
}
