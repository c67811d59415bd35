import type { AckOutcome } from '@gateway/messenger/codes/ack-outcomes';
import type { Clock } from '@gateway/runtime/clock';
import { snakeCase } from '@gateway/runtime/process/metrics';
import { beginPart, type SpanFields } from '@gateway/runtime/tracing/spans';
import type { SendProgress } from '../scheduling/send-progress.js';

type Sent = Pick<SendProgress, 'messageId' | 'record'>;

/** Messages of one send: from the first claim to the last, and from the first claim that was made to the last answer. */
interface Batch {
  send: Sent;
  beganAtMs: number;
  claimedAtMs: number;
  lastClaimedAtMs: number;
  claimed: number;
  unused: number;
  answeredAtMs: number;
  answered: number;
  outcomes: Record<`gateway.outcome.${string}`, number>;
}

/** As for lines of the log. */
const GATHER_MS = 60_000;
const MOST_ANSWERS = 100;

/**
 * The spans `claim` and `ack` of traced sends: one pair for all that happened to a send within a minute, or until a hundred answers had
 * come, or it was over. A single message has its own; a list of 10,000 has hundreds and not 20,000.
 */
export class SendSpans {
  private readonly batches = new Map<string, Batch>();

  constructor(private readonly clock: Clock) {}

  /** One of its messages was claimed: its turn came at that time. */
  claimed(send: Sent, beganAtMs: number): void {
    if (send.record.trace === undefined) return;
    const batch = this.batchOf(send, beganAtMs);
    batch.lastClaimedAtMs = this.clock.nowMs();
    batch.claimed++;
  }

  /** A claim was given back: not a byte of the message went out, and it is claimed anew. */
  unused(send: Sent): void {
    if (send.record.trace === undefined) return;
    this.batchOf(send, this.clock.nowMs()).unused++;
  }

  /** The network said, or failed to say, what becomes of a message. */
  answered(send: Sent, outcome: AckOutcome['kind']): void {
    if (send.record.trace === undefined) return;
    const nowMs = this.clock.nowMs();
    const batch = this.batchOf(send, nowMs);
    const field = `gateway.outcome.${snakeCase(outcome)}` as const;
    batch.outcomes[field] = (batch.outcomes[field] ?? 0) + 1;
    batch.answeredAtMs = nowMs;
    batch.answered++;
    if (batch.answered >= MOST_ANSWERS) this.write((each) => each === batch);
  }

  /** Those that are due. Called often. */
  tick(nowMs: number): void {
    this.write(({ beganAtMs }) => beganAtMs + GATHER_MS <= nowMs);
  }

  /** Those of a send that is over. */
  end({ messageId }: Sent): void {
    this.write(({ send }) => send.messageId === messageId);
  }

  writeAll(): void {
    this.write(() => true);
  }

  private batchOf(send: Sent, beganAtMs: number): Batch {
    const known = this.batches.get(send.messageId);
    if (known) return known;
    const nowMs = this.clock.nowMs();
    const times = { beganAtMs, claimedAtMs: nowMs, lastClaimedAtMs: nowMs, answeredAtMs: nowMs };
    const batch = { send, ...times, claimed: 0, unused: 0, answered: 0, outcomes: {} };
    this.batches.set(send.messageId, batch);
    return batch;
  }

  private write(isDue: (batch: Batch) => boolean): void {
    for (const [key, batch] of this.batches) {
      if (!isDue(batch)) continue;
      this.batches.delete(key);
      const { beganAtMs, claimedAtMs, claimed, unused, lastClaimedAtMs, answered, answeredAtMs } = batch;
      const givenBack = unused > 0 ? { 'gateway.unused': unused } : {};
      if (claimed + unused > 0)
        writeSpan(batch.send, 'claim', { from: beganAtMs, to: lastClaimedAtMs }, claimed, givenBack);
      if (answered > 0) writeSpan(batch.send, 'ack', { from: claimedAtMs, to: answeredAtMs }, answered, batch.outcomes);
    }
  }
}

function writeSpan(
  { messageId, record: { trace, requestId, kind } }: Sent,
  name: 'claim' | 'ack',
  { from, to }: { from: number; to: number },
  messages: number,
  counts: SpanFields = {},
): void {
  const fields = { 'gateway.message_id': messageId, 'gateway.request_id': requestId, 'gateway.kind': kind };
  beginPart(name, trace, {
    kind: name === 'claim' ? 'consumer' : 'client',
    fields: { ...fields, 'gateway.messages': messages, ...counts },
    beganAtMs: from,
  }).end(to);
}
