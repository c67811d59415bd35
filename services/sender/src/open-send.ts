import type { MessageId, SendTag } from '@gateway/contracts/ids';
import type { MessageContent } from '@gateway/contracts/message-content';
import type { RecipientView, SendRecord } from '@gateway/store/read-send';

/** One message to go out. */
export interface WorkItem {
  send: OpenSend;
  recipient: number;
  part: number;
  /** Digits. */
  to: string;
}

/** A recipient whose last try failed for now, and when the next one is due. */
interface Retry {
  index: number;
  atMs: number;
}

const RETRY_FIRST_MS = 2_000;
const RETRY_LONGEST_MS = 5 * 60_000;

/**
 * What is left of one send, in the memory of its owner. A recipient is in one place at a time:
 * `waiting` -> (look-up) -> `ready` -> (relay) -> in flight -> settled, or back to `waiting` with a pause of its own.
 * Redis holds the truth; this is thrown away and rebuilt from it at any moment.
 */
export class OpenSend {
  readonly messageId: MessageId;
  readonly tag: SendTag;
  readonly record: SendRecord;
  readonly content: MessageContent;
  /** Ends the job that brought this send here. */
  readonly finish: () => void;
  /** A look-up of recipients of this send is under way. */
  lookingUp = false;
  private waiting: number[];
  private ready: number[] = [];
  private retries: Retry[] = [];
  private readonly tries = new Map<number, number>();
  /** Recipients that may have the message: by a former owner's try, or by one of ours. */
  private readonly tried: Set<number>;
  private readonly inFlight = new Set<number>();
  private readonly numbers: string[];

  constructor(options: {
    record: SendRecord;
    recipients: readonly RecipientView[];
    content: MessageContent;
    finish: () => void;
  }) {
    this.record = options.record;
    this.messageId = options.record.messageId;
    this.tag = options.record.tag;
    this.content = options.content;
    this.finish = options.finish;
    this.numbers = options.recipients.map(({ to }) => to);
    const queued = options.recipients.filter(({ status }) => status === 'queued');
    this.tried = new Set(queued.filter(({ tries }) => tries > 0).map(({ index }) => index));
    // Those that a former owner had in flight go first: their phones may have the message already.
    const untried = queued.filter(({ tries }) => tries === 0).map(({ index }) => index);
    this.waiting = [...this.tried, ...untried];
  }

  get isDone(): boolean {
    return this.waiting.length + this.ready.length + this.retries.length + this.inFlight.size === 0;
  }

  get hasReady(): boolean {
    return this.ready.length > 0;
  }

  /** Takes up to `limit` recipients to look up, unless enough are ready. */
  takeForLookUp(limit: number, nowMs: number): { index: number; to: string }[] {
    this.wakeRetries(nowMs);
    if (this.lookingUp || this.ready.length >= limit / 2) return [];
    return this.waiting.splice(0, limit).map((index) => ({ index, to: this.numbers[index]! }));
  }

  addReady(indices: readonly number[]): void {
    this.ready.push(...indices);
  }

  /** Back to the head of the queue: nothing was written, or nobody knows. */
  putBack(indices: readonly number[]): void {
    for (const index of indices) this.inFlight.delete(index);
    this.waiting.unshift(...indices);
  }

  /** To the end of the list, with a pause that doubles at each try. */
  retryLater(index: number, nowMs: number): void {
    this.inFlight.delete(index);
    const tries = this.tries.get(index) ?? 0;
    this.tries.set(index, tries + 1);
    this.retries.push({ index, atMs: nowMs + Math.min(RETRY_FIRST_MS * 2 ** tries, RETRY_LONGEST_MS) });
  }

  takeReady(): WorkItem | undefined {
    const recipient = this.ready.shift();
    if (recipient === undefined) return undefined;
    this.inFlight.add(recipient);
    this.tried.add(recipient);
    return { send: this, recipient, part: 0, to: this.numbers[recipient]! };
  }

  settled(index: number): void {
    this.inFlight.delete(index);
    this.tries.delete(index);
  }

  /** The send's time is over: nothing more goes out. */
  dropWaiting(): void {
    this.keepWaiting(() => false);
  }

  /** The send was cancelled: only those go on of whom nobody knows whether they have the message. */
  dropUntried(): void {
    this.keepWaiting((index) => this.tried.has(index));
  }

  /** Look-ups were made for a session that is gone. */
  forgetLookUps(): void {
    this.waiting.unshift(...this.ready);
    this.ready = [];
  }

  private keepWaiting(keep: (index: number) => boolean): void {
    this.waiting = this.waiting.filter(keep);
    this.ready = this.ready.filter(keep);
    this.retries = this.retries.filter(({ index }) => keep(index));
  }

  private wakeRetries(nowMs: number): void {
    const due = this.retries.filter(({ atMs }) => atMs <= nowMs);
    if (due.length === 0) return;
    this.retries = this.retries.filter(({ atMs }) => atMs > nowMs);
    this.waiting.push(...due.map(({ index }) => index));
  }
}
