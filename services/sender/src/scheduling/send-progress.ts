import {
  contentOfPart,
  type MediaUpload,
  type MessageContent,
  type ReadyContent,
} from '@gateway/contracts/content/message-content';
import type { MessageId, SendTag } from '@gateway/contracts/ids';
import { isNetworkCode, type OwnRecipientError, ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import type { RecipientView, SendRecord } from '@gateway/store/sends/read-send';
import type { QuoteFor } from '../preparing/load-quotes.js';
import { findSuspects, isSuspectSend } from './find-suspects.js';
import { pauseAfter, Retries } from './retries.js';

/** One message to go out. */
export interface WorkItem {
  send: SendProgress;
  recipient: number;
  part: number;
  /** Digits. */
  to: string;
  content: ReadyContent;
}

/** What those wait for who are held. */
export type HoldReason = Extract<OwnRecipientError, 'new_contacts_held' | 'awaiting_history'>;

/** What is kept of a send that gave up its place: all who are not held are tried again at one time. */
export interface Rest {
  /** When the last of its pauses is over: no one is tried too early. */
  untilMs: number;
  /** The most attempts that one of them has behind them: pauses go on doubling from there. */
  attempts: number;
  uploadTries: number;
}

/** About half an hour with the pauses in between. */
const MAX_UPLOAD_TRIES = 12;

/**
 * What is left of one send, in the memory of its owner. A recipient is in one place at a time:
 * `waiting` -> (look-up) -> `ready` -> (relay) -> in flight -> settled, or back to `waiting` with a pause of its own.
 * `held` are those who wait for the network to lift a restriction, or for what the account's phone has to say first.
 * Of several parts, the next one is `ready` as soon as the network has accepted the one before.
 * Those who were in flight when several owners ended wait for longer and longer, and then go out `alone`: their message may
 * be what ends a process, and others in flight would share its fate. With two of them, so do all others of their send.
 * A send of a file waits for its upload first. Redis holds the truth; this is thrown away and rebuilt from it at any moment.
 */
export class SendProgress {
  readonly messageId: MessageId;
  readonly tag: SendTag;
  readonly record: SendRecord;
  readonly content: MessageContent;
  /** Ends the job that brought this send here. */
  readonly finish: () => void;
  /** A look-up of recipients of this send is under way. */
  lookingUp = false;
  /** Its file is on its way to the network. */
  uploading = false;
  private waiting: number[];
  private ready: number[] = [];
  /** Looked up, and to go out with nothing else under way. */
  private alone: number[] = [];
  private readonly suspects: Set<number>;
  private readonly retries: Retries;
  private held: number[] = [];
  /** Those of whom Redis says what they are held for: until their next try. */
  private readonly marked = new Map<number, HoldReason>();
  /** Those of whom Redis says that they could not be looked up. */
  readonly lookedUpAgain: Set<number>;
  /** Recipients whose phones may show some of the message: they go on after a cancel. */
  private readonly doubtful: Set<number>;
  private readonly inFlight = new Set<number>();
  /** Those whom the network has refused as strangers while it knew of no restriction. */
  private readonly refusedOnce: Set<number>;
  private readonly unansweredOnce = new Set<number>();
  private readonly numbers: string[];
  private readonly quoteFor: QuoteFor;
  /** The parts that the network has accepted, a bit each, of recipients that are missing others. */
  private readonly accepted: Map<number, number>;
  private upload: MediaUpload | undefined;
  private uploadTries = 0;
  private uploadNotBeforeMs = 0;

  constructor(options: {
    record: SendRecord;
    recipients: readonly RecipientView[];
    content: MessageContent;
    quoteFor?: QuoteFor;
    finish: () => void;
    rest?: Rest | undefined;
  }) {
    this.record = options.record;
    this.messageId = options.record.messageId;
    this.tag = options.record.tag;
    this.content = options.content;
    this.finish = options.finish;
    this.quoteFor = options.quoteFor ?? (() => undefined);
    this.numbers = options.recipients.map(({ to }) => to);
    const queued = options.recipients.filter(({ status }) => status === 'queued');
    this.accepted = new Map(
      queued.map(({ index, partsAcked }) => [index, partsAcked] as const).filter(([, acked]) => acked > 0),
    );
    const waitingFor = (error: OwnRecipientError) =>
      new Set(queued.filter(({ errorCode }) => errorCode === ownErrorCode(error)).map(({ index }) => index));
    for (const reason of ['new_contacts_held', 'awaiting_history'] as const) {
      for (const index of waitingFor(reason)) this.marked.set(index, reason);
    }
    this.lookedUpAgain = waitingFor('looked_up_again');
    this.refusedOnce = new Set(queued.filter(({ errorCode }) => isNetworkCode(errorCode)).map(({ index }) => index));
    // Those that a former owner had in flight go first: their phones may have the message already.
    const [doubtful, others] = [queued.filter(mayBeShown), queued.filter((recipient) => !mayBeShown(recipient))];
    this.doubtful = new Set(doubtful.map(({ index }) => index));
    const inOrder = [...doubtful, ...others].map(({ index }) => index);
    const { rest } = options;
    this.retries = new Retries(rest?.attempts);
    this.uploadTries = rest?.uploadTries ?? 0;
    const suspects = findSuspects(doubtful);
    this.suspects = new Set(suspects.each.map(({ index }) => index));
    const trusted = inOrder.filter((index) => !this.suspects.has(index));
    const untilMs = Math.max(rest?.untilMs ?? 0, suspects.sendNotBeforeMs);
    // Those who are held may have been let go: their look-up says.
    this.waiting = untilMs > 0 ? trusted.filter((index) => this.marked.has(index)) : trusted;
    if (this.uploadTries > 0) this.uploadNotBeforeMs = untilMs;
    if (untilMs > 0)
      this.retries.add(
        trusted.filter((index) => !this.marked.has(index)),
        untilMs,
      );
    for (const { index, notBeforeMs } of suspects.each) {
      this.retries.add([index], Math.max(notBeforeMs, rest?.untilMs ?? 0));
    }
  }

  get isDone(): boolean {
    return !this.hasWork && this.held.length === 0;
  }

  /** There is nothing to do but to wait with those who are held. */
  get isHeld(): boolean {
    return !this.hasWork && this.held.length > 0;
  }

  /** Everybody who is left waits for the end of a pause, or for the network to lift a restriction. */
  get rests(): boolean {
    if (this.lookingUp || this.uploading || this.inFlight.size > 0) return false;
    if (this.lacksUpload) return this.uploadTries > 0;
    return this.retries.size > 0 && this.waiting.length + this.ready.length + this.alone.length === 0;
  }

  /** What is to be kept of it when it gives up its place; `undefined`: there is something to do, now or in a moment. */
  restAt(nowMs: number): Rest | undefined {
    if (!this.rests) return undefined;
    const { firstMs, lastMs, attempts } = this.retries.summary();
    const nextMs = this.lacksUpload ? this.uploadNotBeforeMs : firstMs;
    if (nextMs <= nowMs) return undefined;
    return { untilMs: Math.max(nextMs, lastMs), attempts, uploadTries: this.uploadTries };
  }

  private get hasWork(): boolean {
    const { waiting, ready, alone, retries, inFlight } = this;
    return waiting.length + ready.length + alone.length + retries.size + inFlight.size > 0;
  }

  /** Whether somebody is to get a message as soon as can be: not later, and not on its way already. */
  get wantsToGo(): boolean {
    return this.lookingUp || this.waiting.length + this.ready.length > 0;
  }

  /** How many of it may be what ended its owners. */
  get suspicion(): number {
    return this.suspects.size;
  }

  /** It goes out after all others of its device, and each of its messages alone. */
  get isSuspect(): boolean {
    return isSuspectSend(this.suspects.size);
  }

  get hasReady(): boolean {
    return this.ready.length > 0 && !this.lacksUpload;
  }

  get hasAlone(): boolean {
    return this.alone.length > 0 && !this.lacksUpload;
  }

  /** Whether nothing can go out before the file is at the network. */
  get lacksUpload(): boolean {
    return this.content.kind === 'media' && !this.upload;
  }

  mayUpload(nowMs: number): boolean {
    return this.lacksUpload && nowMs >= this.uploadNotBeforeMs && this.hasWork;
  }

  uploaded(upload: MediaUpload): void {
    this.upload = upload;
  }

  /** After a pause that doubles at each try; `false` when it was tried often enough. */
  retryUpload(nowMs: number): boolean {
    this.uploadNotBeforeMs = nowMs + pauseAfter(this.uploadTries);
    this.uploadTries++;
    return this.uploadTries < MAX_UPLOAD_TRIES;
  }

  /** Takes up to `limit` recipients to look up, unless enough are ready. */
  takeForLookUp(limit: number, nowMs: number): { index: number; to: string }[] {
    this.waiting.push(...this.retries.takeDue(nowMs));
    if (this.lookingUp || this.ready.length + this.alone.length >= limit / 2) return [];
    return this.waiting.splice(0, limit).map((index) => ({ index, to: this.numbers[index]! }));
  }

  addReady(indices: readonly number[]): void {
    const goesAlone = (index: number) => this.isSuspect || this.suspects.has(index);
    this.ready.push(...indices.filter((index) => !goesAlone(index)));
    this.alone.push(...indices.filter(goesAlone));
  }

  /** Back to the head of the queue: nothing was written, or nobody knows. */
  putBack(indices: readonly number[]): void {
    for (const index of indices) this.inFlight.delete(index);
    this.waiting.unshift(...indices);
  }

  /** Nothing goes out to them before `releaseHeld`, and whoever looks at the send can see that. */
  hold(indices: readonly number[], reason: HoldReason = 'new_contacts_held'): void {
    for (const index of indices) {
      this.answered(index);
      this.marked.set(index, reason);
    }
    this.held.push(...indices);
  }

  isMarkedHeld(index: number, reason: HoldReason): boolean {
    return this.marked.get(index) === reason;
  }

  /** Redis is to say no more that this recipient waits for their look-up, or for the history; `false`: it does not. */
  endWait(index: number): boolean {
    const waitedForHistory = this.isMarkedHeld(index, 'awaiting_history') && this.marked.delete(index);
    return this.lookedUpAgain.delete(index) || waitedForHistory;
  }

  /** Of those who are held. */
  heldNumbers(): string[] {
    return this.held.map((index) => this.numbers[index]!);
  }

  /** They go first: with `numbers` only those people, else all who are held. */
  releaseHeld(numbers?: ReadonlySet<string>): void {
    const [released, others] = this.split(this.held, numbers);
    this.waiting.unshift(...released);
    this.held = others;
  }

  /** They are the next to be looked up, if they wait at all. */
  putFirst(numbers: ReadonlySet<string>): void {
    this.waiting = this.split(this.waiting, numbers).flat();
  }

  /**
   * No ack: again at once, as the phone may have it. After the second time in turn, with pauses: a message that the
   * network never answers, or closes the connection for, must not hold up the others for as long as the send lives.
   */
  unanswered(index: number, nowMs: number): void {
    this.suspects.delete(index);
    const again = this.unansweredOnce.has(index) || this.retries.attemptsBefore > 0;
    this.unansweredOnce.add(index);
    this.doubtful.add(index);
    if (again) this.retryLater(index, nowMs);
    else this.putBack([index]);
  }

  /** The network refused a message to a stranger, and knows of no restriction. `true`: it is not the first time. */
  noteRefusal(index: number): boolean {
    const again = this.refusedOnce.has(index);
    this.refusedOnce.add(index);
    return again;
  }

  /** To the end of the list, with a pause that doubles at each try. */
  retryLater(index: number, nowMs: number): void {
    this.answered(index);
    this.retries.later(index, nowMs);
  }

  takeReady(): WorkItem | undefined {
    return this.hasReady ? this.take(this.ready.shift()!) : undefined;
  }

  takeAlone(): WorkItem | undefined {
    return this.hasAlone ? this.take(this.alone.shift()!) : undefined;
  }

  private take(recipient: number): WorkItem {
    this.inFlight.add(recipient);
    this.marked.delete(recipient);
    const part = this.firstMissingPart(recipient);
    const to = this.numbers[recipient]!;
    // One quote per answer: the text that follows a file stands for itself.
    const quoted = part === 0 ? this.quoteFor(to) : undefined;
    return { send: this, recipient, part, to, content: { ...this.contentOf(part), ...(quoted && { quoted }) } };
  }

  /** The network has this part: the recipient is settled, or its next part goes out before other recipients'. */
  acceptedPart(index: number, part: number): void {
    this.accepted.set(index, (this.accepted.get(index) ?? 0) | (1 << part));
    if (this.firstMissingPart(index) >= this.record.parts) {
      this.settled(index);
      return;
    }
    this.answered(index);
    this.retries.forget(index);
    this.doubtful.add(index);
    this.ready.unshift(index);
  }

  settled(index: number): void {
    this.answered(index);
    this.suspects.delete(index);
    this.retries.forget(index);
    this.accepted.delete(index);
    this.doubtful.delete(index);
    this.refusedOnce.delete(index);
  }

  /** All recipients that wait for something: nothing more goes out to them. */
  takeUnsent(): number[] {
    const unsent = [...this.waiting, ...this.ready, ...this.alone, ...this.held, ...this.retries.indices];
    this.dropWaiting();
    return unsent;
  }

  /** The send's time is over: nothing more goes out. */
  dropWaiting(): void {
    this.keepWaiting(() => false);
  }

  /** The send was cancelled: only those go on of whom nobody knows whether they have the message. */
  dropCancelled(): void {
    this.keepWaiting((index) => this.doubtful.has(index));
  }

  /** Look-ups were made for a session that is gone. */
  forgetLookUps(): void {
    this.waiting.unshift(...this.ready, ...this.alone);
    this.ready = [];
    this.alone = [];
  }

  /** This process has lived to see what became of the message, if one was under way. */
  private answered(index: number): void {
    if (this.inFlight.delete(index)) this.suspects.delete(index);
  }

  /** Those with these numbers, and those without. */
  private split(indices: readonly number[], numbers?: ReadonlySet<string>): [number[], number[]] {
    const isMeant = (index: number) => numbers?.has(this.numbers[index]!) ?? true;
    return [indices.filter(isMeant), indices.filter((index) => !isMeant(index))];
  }

  private firstMissingPart(index: number): number {
    const accepted = this.accepted.get(index) ?? 0;
    let part = 0;
    while (accepted & (1 << part)) part++;
    return part;
  }

  private contentOf(part: number): ReadyContent {
    const content = contentOfPart(this.content, part);
    if (!content) throw new Error(`a send of ${this.record.parts} parts has no content for part ${part}`);
    return content.kind === 'media' ? { ...content, upload: this.upload! } : content;
  }

  private keepWaiting(keep: (index: number) => boolean): void {
    this.waiting = this.waiting.filter(keep);
    this.ready = this.ready.filter(keep);
    this.alone = this.alone.filter(keep);
    this.held = this.held.filter(keep);
    this.retries.keep(keep);
  }
}

/** The same as libs/store/src/sends/results.lua says. */
function mayBeShown({ partsInFlight, partsInDoubt, partsAcked }: RecipientView): boolean {
  return (partsInFlight | partsInDoubt | partsAcked) > 0;
}
