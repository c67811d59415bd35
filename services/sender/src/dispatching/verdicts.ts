import type { AckOutcome } from '@gateway/messenger/codes/ack-outcomes';
import { SessionEndedError } from '@gateway/messenger/session/session-errors';
import type { Clock } from '@gateway/runtime/clock';
import { GatewayError } from '@gateway/runtime/errors';
import type { LogFields, Logger } from '@gateway/runtime/logs/logger';
import type { FirstContactHold } from '../holding/first-contact-hold.js';
import type { NewContactHold } from '../holding/new-contact-hold.js';
import type { SendPreparation } from '../preparing/send-preparation.js';
import type { FailureLines } from '../reporting/failure-lines.js';
import type { ResultWriter } from '../scheduling/result-writer.js';
import type { SendProgress, WorkItem } from '../scheduling/send-progress.js';
import type { SenderMetrics } from '../sender-metrics.js';

export interface VerdictDeps {
  clock: Clock;
  logger: Logger;
  metrics: SenderMetrics;
  results: ResultWriter;
  hold: NewContactHold;
  firstContacts: FirstContactHold;
  preparation: Pick<SendPreparation, 'holdBack'>;
  failures: FailureLines;
}

/** What follows from the network's word on a message, in Redis and for its recipient's place in the send. */
export class Verdicts {
  constructor(private readonly deps: VerdictDeps) {}

  async settle(item: WorkItem, outcome: AckOutcome): Promise<void> {
    const { clock, results, metrics, logger, hold } = this.deps;
    const { send, recipient, part } = item;
    switch (outcome.kind) {
      case 'accepted':
        await results.write(send.tag, { recipient, part, event: 'acked' }, urgencyOf(send));
        metrics.observeAck(send.record.kind, clock.nowMs() - send.record.createdAtMs);
        logger.debug('message acknowledged', {
          messageId: send.messageId,
          requestId: send.record.requestId,
          recipientIndex: recipient,
        });
        send.acceptedPart(recipient, part);
        await hold.wasAccepted(item.to);
        break;
      case 'refused':
        await this.failRefused(item, outcome.code);
        break;
      case 'restricted':
        await this.waitOrFail(item, outcome.code);
        break;
      case 'retryLater':
      case 'staleDevices':
        await this.comeBack(item, () => send.retryLater(recipient, clock.nowMs()));
        break;
      case 'unacknowledged':
        // It may have arrived. The same id goes out again on the next session, and the phone drops the duplicate.
        send.unanswered(recipient, clock.nowMs());
        break;
    }
  }

  private async failRefused({ send, recipient, part }: WorkItem, code: number): Promise<void> {
    const refusal = { recipient, part, event: 'failed', errorCode: code } as const;
    await this.deps.results.write(send.tag, refusal, urgencyOf(send));
    const fields = { firstRecipientIndex: recipient, networkCode: code };
    this.noteFailure(send, 'message refused by the network', { reason: code, fields });
    send.settled(recipient);
  }

  private noteFailure(
    send: SendProgress,
    sentence: string,
    failure: { reason: string | number; fields: LogFields },
  ): void {
    this.deps.failures.count(send, { sentence, ...failure, nowMs: this.deps.clock.nowMs() });
  }

  /** Not a byte of it has gone out: the next session takes it up at once; another failure is about this one message, and waits. */
  async notWritten(item: WorkItem, error: Error): Promise<void> {
    const { send, recipient } = item;
    if (error instanceof SessionEndedError) return this.unused(item);
    const reason = error instanceof GatewayError ? error.code : error.name;
    this.noteFailure(send, 'message not written', { reason, fields: { error } });
    await this.comeBack(item, () => send.retryLater(recipient, this.deps.clock.nowMs()));
  }

  /** Its claim is given back. */
  async unused(item: WorkItem): Promise<void> {
    await this.comeBack(item, () => item.send.putBack([item.recipient]));
  }

  /** This attempt reached no phone, and Redis records that: a cancel, earlier or from now on, ends it. */
  private async comeBack({ send, recipient, part }: WorkItem, tryAgain: () => void): Promise<void> {
    const status = await this.deps.results.write(send.tag, { recipient, part, event: 'returned' });
    if (status === 'queued') tryAgain();
    else send.settled(recipient);
  }

  /** Refused for being to a new contact: it waits with the others of its kind, if the network refuses them all. */
  private async waitOrFail(item: WorkItem, code: number): Promise<void> {
    const { send, recipient, part, to } = item;
    const [isRestricted] = await Promise.all([
      this.deps.hold.wasRefused(to, code),
      this.deps.results.write(send.tag, { recipient, part, event: 'returned' }),
    ]);
    const recipients = [{ index: recipient, to }];
    if (isRestricted) await this.deps.preparation.holdBack(send, recipients);
    else if (await this.deps.firstContacts.wasRefused(to, code))
      await this.deps.preparation.holdBack(send, recipients, 'awaiting_history');
    else if (send.noteRefusal(recipient) && !this.deps.hold.hasLateNews) await this.failRefused(item, code);
    else await this.tryOnceMore(item, code);
  }

  /** What it was refused for may have ended before the network was asked: only a second such refusal is final. */
  private async tryOnceMore({ send, recipient, part }: WorkItem, code: number): Promise<void> {
    const status = await this.deps.results.write(send.tag, { recipient, part, event: 'held', errorCode: code });
    if (status === 'queued') send.retryLater(recipient, this.deps.clock.nowMs());
    else send.settled(recipient);
  }
}

/** A person waits for a one-time password, and its caller for what becomes of it. */
function urgencyOf({ record }: SendProgress): { isUrgent: boolean } {
  return { isUrgent: record.priority === 'otp' };
}
