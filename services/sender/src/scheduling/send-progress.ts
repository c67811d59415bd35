import type { MessageContent, ReadyContent } from '@gateway/contracts/content/message-content';
import type { MessageId, SendTag } from '@gateway/contracts/ids';
import type { RecipientView } from '@gateway/contracts/sends/packed-send';
import type { SendRecord } from '@gateway/store/sends/read-send';
import { KeptContent } from '../preparing/kept-content.js';
import type { QuoteFor } from '../preparing/load-quotes.js';
import { FileProgress } from './file-progress.js';
import { FormerAttempts, HOLD_REASONS, isSuspectSend, type WaitReason } from './former-attempts.js';
import { weighSend } from './memory-budget.js';
import { type IllegalMoveError, Places } from './places.js';
import { RecipientNumbers } from './recipient-numbers.js';
import { isOver, type Rest, Retries } from './retries.js';

/** One message to go out. */
export interface WorkItem {
  send: SendProgress;
  recipient: number;
  part: number;
  /** Digits. */
  to: string;
  /** It must go out with nothing else in flight. */
  isAlone: boolean;
}

/** More are not looked up before the first of these are due: each is asked about again then. */
const MAX_POSTPONED = 500;
const UNSENT = ['waiting', 'ready', 'alone', 'held', 'pausing'] as const;

/**
 * The unsettled rest of one send, in the memory of its owner. Each recipient is in one place, see `Places`:
 * `waiting` -> `lookingUp` -> `ready` -> `inFlight` -> `settled`, or back to `waiting` after a pause (`pausing`).
 * `held` are those who wait for the end of a restriction, or for the phone history.
 * Of several parts, the next one is `ready` as soon as the network has accepted the one before.
 * Those who were in flight when several owners died wait for longer and longer, and then go out `alone`: their message may
 * be the cause, and others in flight would become suspects, too. With two of them, so do all others of their send.
 * A send of a file waits for its upload first. Redis has the truth; this can be rebuilt from it at any moment.
 */
export class SendProgress {
  readonly messageId: MessageId;
  readonly tag: SendTag;
  readonly record: SendRecord;
  readonly kept: KeptContent;
  /** Recipients whose lookup is under way. */
  lookingUp = 0;
  readonly file: FileProgress;
  private readonly places: Places;
  private readonly suspects: Set<number>;
  private readonly retries: Retries;
  /** Those of whom Redis says what they wait for: until their next attempt. */
  private readonly waits: Map<number, WaitReason>;
  /** Recipients whose phones may show some of the message: they go on after a cancel. */
  private readonly doubtful: Set<number>;
  /** Those whom the network has refused as strangers while it knew of no restriction. */
  private readonly refusedOnce: Set<number>;
  private readonly unansweredOnce = new Set<number>();
  private readonly numbers: RecipientNumbers;
  /** What it takes of the memory of its process, about. */
  readonly bytes: number;
  private readonly quoteFor: QuoteFor;
  /** The parts that the network has accepted, a bit each, of recipients that are missing others. */
  private readonly accepted: Map<number, number>;
  /** Whether who is claimed still gets the message: not where it was cancelled, or is over. */
  mayGo: (index: number) => boolean = () => true;

  constructor(options: {
    record: SendRecord;
    recipients: readonly RecipientView[];
    content: MessageContent;
    quoteFor?: QuoteFor;
    rest?: Rest | undefined;
    /** Reports a defect; by default it throws. */
    onIllegalMove?: (error: IllegalMoveError) => void;
  }) {
    this.record = options.record;
    this.messageId = options.record.messageId;
    this.tag = options.record.tag;
    this.kept = new KeptContent(options.content);
    this.quoteFor = options.quoteFor ?? quoteNothing;
    this.numbers = new RecipientNumbers(options.recipients);
    this.bytes = weighSend(options.recipients.length, this.kept.bytes);
    this.places = new Places(options.recipients.length, options.onIllegalMove);
    const { doubtful, others, suspects, ...former } = new FormerAttempts(options.recipients);
    this.waits = former.waits;
    this.refusedOnce = former.refusedOnce;
    this.accepted = former.accepted;
    this.doubtful = new Set(doubtful.map(({ index }) => index));
    // Those that a former owner had in flight go first: their phones may have the message already.
    const inOrder = [...this.doubtful, ...others];
    const { rest } = options;
    this.retries = new Retries(rest?.attempts);
    this.file = new FileProgress(options.content.kind === 'media', rest?.uploadAttempts);
    this.suspects = new Set(suspects.each.map(({ index }) => index));
    const trusted = inOrder.filter((index) => !this.suspects.has(index));
    const untilMs = Math.max(rest?.untilMs ?? 0, suspects.sendNotBeforeMs);
    // Held recipients may have been released: their lookup tells.
    const isFree = (index: number) => untilMs === 0 || HOLD_REASONS.some((reason) => this.waitsFor(index, reason));
    this.places.begin(trusted.filter(isFree), 'waiting');
    if (this.file.attempts > 0) this.file.notBeforeMs = untilMs;
    this.pause(
      trusted.filter((index) => !isFree(index)),
      untilMs,
    );
    for (const { index, notBeforeMs } of suspects.each) this.pause([index], Math.max(notBeforeMs, rest?.untilMs ?? 0));
  }

  private pause(indices: readonly number[], untilMs: number): void {
    this.places.begin(indices, 'pausing');
    this.retries.at(indices, untilMs);
  }

  get isDone(): boolean {
    return !this.places.hasWork && this.places.count('held') === 0;
  }

  /** Only held recipients are left. */
  get isHeld(): boolean {
    return !this.places.hasWork && this.places.count('held') > 0;
  }

  /** All remaining recipients wait for the end of a pause, or of a restriction. */
  get rests(): boolean {
    if (this.lookingUp > 0 || this.file.uploading || this.places.count('inFlight') > 0) return false;
    if (this.file.isLacking) return this.file.attempts > 0;
    return this.places.count('pausing') > 0 && !this.mayLookUp && this.count('ready', 'alone') === 0;
  }

  /** What is to be kept of it when it gives up its place; `undefined`: there is something to do, now or in a moment. */
  restAt(nowMs: number): Rest | undefined {
    if (!this.rests) return undefined;
    const { firstMs, lastMs, attempts } = this.retries.summary(this.places.in('pausing'));
    const nextMs = this.file.isLacking ? this.file.notBeforeMs : firstMs;
    if (isOver(nextMs, nowMs)) return undefined;
    return { untilMs: Math.max(nextMs, lastMs), attempts, uploadAttempts: this.file.attempts };
  }

  /** How many of its recipients are in these places. */
  count(...places: Parameters<Places['count']>[0][]): number {
    return places.reduce((sum, place) => sum + this.places.count(place), 0);
  }

  /** Whether a recipient should get a message as soon as possible: not later, and not already in flight. */
  get wantsToGo(): boolean {
    return this.lookingUp > 0 || this.mayLookUp || this.places.count('ready') > 0;
  }

  private get mayLookUp(): boolean {
    return this.places.count('waiting') > 0 && this.retries.countPostponed(this.places.in('pausing')) < MAX_POSTPONED;
  }

  /** How many of its recipients are suspects. */
  get suspicion(): number {
    return this.suspects.size;
  }

  /** It goes out after all others of its device, and each of its messages alone. */
  get isSuspect(): boolean {
    return isSuspectSend(this.suspects.size);
  }

  get hasReady(): boolean {
    return this.places.hasReady && !this.file.isLacking;
  }

  get hasAlone(): boolean {
    return this.places.hasAlone && !this.file.isLacking;
  }

  mayUpload(nowMs: number): boolean {
    return this.file.isDue(nowMs) && this.places.hasWork;
  }

  /** Some of its recipients may have to be looked up, now or after a pause. */
  get mayWait(): boolean {
    return this.places.hasUnprepared;
  }

  /** Called when some may have to be that need not be before. */
  set onUnprepared(listener: () => void) {
    this.places.onUnprepared = listener;
  }

  /** Takes up to `limit` recipients to look up, unless `enough` are ready or will be. */
  takeForLookUp(limit: number, nowMs: number, { enough = limit / 2 } = {}): { index: number; to: string }[] {
    const due = this.places.in('pausing').filter((index) => this.retries.isDue(index, nowMs));
    this.places.move(due, 'waiting');
    if (!this.mayLookUp || this.lookingUp + this.count('ready', 'alone') >= enough) return [];
    return this.places.take(limit, 'waiting', 'lookingUp').map((index) => ({ index, to: this.numbers.of(index) }));
  }

  addReady(indices: readonly number[]): void {
    const goesAlone = (index: number) => this.isSuspect || this.suspects.has(index);
    this.places.move(
      indices.filter((index) => !goesAlone(index)),
      'ready',
    );
    this.places.move(indices.filter(goesAlone), 'alone');
  }

  /** Back to the head of the queue: nothing was written, or the outcome is unknown. */
  putBack(indices: readonly number[]): void {
    this.places.move(indices, 'waiting', { first: true });
  }

  /** Nothing is sent to them before `releaseHeld`. */
  hold(indices: readonly number[]): void {
    for (const index of indices) this.answered(index);
    this.places.move(indices, 'held');
  }

  /** Redis says now that this recipient waits for this, and `/messages` shows it. */
  noteWait(index: number, reason: WaitReason): void {
    this.waits.set(index, reason);
  }

  /** Whether Redis says that this recipient waits for this. */
  waitsFor(index: number, reason: WaitReason): boolean {
    return this.waits.get(index) === reason;
  }

  /** The note in Redis that this recipient waits for a lookup or the history must go; `false`: there is none. */
  endWait(index: number): boolean {
    // Of a restriction it outlives the restriction until the next attempt, and is not shown.
    return !this.waitsFor(index, 'new_contacts_held') && this.waits.delete(index);
  }

  get hasHeld(): boolean {
    return this.places.count('held') > 0;
  }

  heldNumbers(): string[] {
    return this.places.in('held').map((index) => this.numbers.of(index));
  }

  /** They go first: with `numbers` only those people, else all held recipients. */
  releaseHeld(numbers?: ReadonlySet<string>): void {
    const [released] = this.numbers.split(this.places.in('held'), numbers);
    this.places.move(released, 'waiting', { first: true });
  }

  /** They are the next to be looked up, if they wait at all. */
  putFirst(numbers: ReadonlySet<string>): void {
    this.places.order('waiting', this.numbers.split(this.places.in('waiting'), numbers).flat());
  }

  /**
   * No ack: retried at once, as the phone may have it. From the second time in a row on with pauses: a message that the
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

  /** To the end of the list, with a pause that doubles at each attempt. */
  retryLater(index: number, nowMs: number): void {
    this.answered(index);
    this.places.move([index], 'pausing');
    this.retries.later(index, nowMs);
  }

  /** A gate wants it no earlier. */
  postpone(index: number, untilMs: number): void {
    this.places.move([index], 'pausing');
    this.retries.postpone(index, untilMs);
  }

  /** The next one in turn: `take` it to send it. */
  get nextReady(): WorkItem | undefined {
    return this.hasReady ? this.workOf(this.places.in('ready')[0]!) : undefined;
  }

  get nextAlone(): WorkItem | undefined {
    return this.hasAlone ? this.workOf(this.places.in('alone')[0]!) : undefined;
  }

  /** Whether it is this recipient's turn, or will be. */
  isReady(index: number): boolean {
    const place = this.places.of(index);
    return place === 'ready' || place === 'alone';
  }

  /** It is sent now; `false`: it must not be sent any more. */
  take({ recipient }: WorkItem): boolean {
    if (!this.isReady(recipient)) return false;
    this.places.move([recipient], 'inFlight');
    this.waits.delete(recipient);
    return true;
  }

  private workOf(recipient: number): WorkItem {
    const [part, to] = [this.firstMissingPart(recipient), this.numbers.of(recipient)];
    return { send: this, recipient, part, to, isAlone: this.places.of(recipient) === 'alone' };
  }

  /** What this recipient gets. Read when it is written, and not kept for its ack: it may be long. */
  contentFor({ part, to }: WorkItem): ReadyContent {
    // One quote per reply: the text that follows a file has none.
    const quoted = part === 0 ? this.quoteFor(to) : undefined;
    const content = this.kept.readPart(part);
    const ready = content.kind === 'media' ? { upload: this.file.upload!, ...content } : content;
    return quoted ? { ...ready, quoted } : ready;
  }

  /** The network has accepted this part: the recipient is settled, or its next part goes out before other recipients'. */
  acceptedPart(index: number, part: number): void {
    this.accepted.set(index, (this.accepted.get(index) ?? 0) | (1 << part));
    if (this.firstMissingPart(index) >= this.record.parts) {
      this.settled(index);
      return;
    }
    this.answered(index);
    this.retries.forget(index);
    this.doubtful.add(index);
    this.places.move([index], 'ready', { first: true });
  }

  settled(index: number): void {
    this.places.move([index], 'settled');
    this.suspects.delete(index);
    this.retries.forget(index);
    this.accepted.delete(index);
    this.doubtful.delete(index);
    this.refusedOnce.delete(index);
  }

  /** All recipients that wait for something: nothing more goes out to them. */
  takeUnsent(): number[] {
    const unsent = this.unsent();
    this.dropWaiting();
    return unsent;
  }

  /** The send has expired: nothing more is sent. */
  dropWaiting(): void {
    this.keepWaiting(() => false);
  }

  /** The send was cancelled: only recipients whose phones may have the message go on. */
  dropCancelled(): void {
    this.keepWaiting((index) => this.doubtful.has(index));
  }

  /** A person was forgotten. */
  dropPerson(numbers: ReadonlySet<string>): void {
    this.places.move(this.numbers.split(this.unsent(), numbers)[0], 'settled');
  }

  /** The lookups belong to a session that is gone. */
  forgetLookUps(): void {
    this.places.move([...this.places.in('ready'), ...this.places.in('alone')], 'waiting', { first: true });
  }

  /** This process has seen the outcome of the message, if one was in flight. */
  private answered(index: number): void {
    if (this.places.of(index) === 'inFlight') this.suspects.delete(index);
  }

  private firstMissingPart(index: number): number {
    const accepted = this.accepted.get(index) ?? 0;
    let part = 0;
    while (accepted & (1 << part)) part++;
    return part;
  }

  private keepWaiting(keep: (index: number) => boolean): void {
    this.mayGo = keep;
    const dropped = this.unsent().filter((index) => !keep(index));
    this.places.move(dropped, 'settled');
  }

  private unsent(): number[] {
    return UNSENT.flatMap((place) => this.places.in(place));
  }
}

/** Not made in the constructor, whose recipients it would keep in memory. */
function quoteNothing(): undefined {}
