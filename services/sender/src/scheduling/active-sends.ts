import type { DeviceAddress, MessageId } from '@gateway/contracts/ids';
import type { SendJob } from '@gateway/contracts/jobs';
import { spellingsOf } from '@gateway/contracts/people/phone-number';
import { toError } from '@gateway/runtime/errors';
import { runInContext } from '@gateway/runtime/logs/context';
import type { SendRecord } from '@gateway/store/sends/read-send';
import { type MemoryBudget, UNREAD_BYTES } from './memory-budget.js';
import { PlacedSends, type Work } from './placed-sends.js';
import { isOver, type LoadOptions, type Rest } from './retries.js';
import type { SendProgress } from './send-progress.js';
import { WaitingLists, type WaitingListsDeps } from './waiting-lists.js';

export interface ActiveSendsDeps {
  address: DeviceAddress;
  memory: MemoryBudget;
  monotonicMs(): number;
  nowMs(): number;
  /** `undefined`: nothing is left to do. `later`: what it needs is not there. */
  load(messageId: string, options: LoadOptions): Promise<SendProgress | 'later' | undefined>;
  /** It is known here, and will be loaded later: no one need wake this process for it. */
  note(messageId: string): Promise<void>;
  /** A one-time password is to be loaded. */
  onOtp(): void;
  /** This send is active, or the place of another is free: `settle` is due. */
  onLoaded(send?: SendProgress): void;
  onFinished(send: SendProgress): void;
  /** It cannot be loaded: it is loaded again a minute later. */
  onUnloadable(send: Work, error: Error): void;
  /** Of these sends those that are held for one of these people, of whom only Redis tells. */
  findHolding(messageIds: readonly MessageId[], phones: readonly string[]): Promise<ReadonlySet<MessageId>>;
  /** A number that one of these sends is held for. */
  findHeldNumber(messageIds: readonly MessageId[], isWanted: (number: string) => boolean): Promise<string | undefined>;
  /** See `WaitingLists`. */
  readPage: WaitingListsDeps['readPage'];
  onUnreadable: WaitingListsDeps['onUnreadable'];
}

/** A send in which all who are left wait: strangers for the network, others for the end of a pause. */
interface Aside {
  work: Work;
  /** Whom it is held for only Redis knows: there may be thousands of long lists. */
  isHeld: boolean;
  rest: Rest | undefined;
  /** Since when, by the monotonic clock. */
  sinceMs: number;
  /** It waits for a place, and for nothing else. */
  isWaiting?: true;
  /** These people are the first of it, once it is taken up again. */
  first?: ReadonlySet<string>;
}

/** Each is in memory as a whole. One-time passwords have one recipient, and take no place of a list. */
const MAX_LISTS = 150;
/** People who wrote are sought together. */
const MAX_SOUGHT = 20;
/** After a search of the held sends Redis has so many times as long for others. */
const REST_FACTOR = 9;
/** One that could not be loaded is loaded again. */
const AGAIN_MS = 60_000;
/** What Redis has forgotten is of a moment before its failover, which takes less than this. */
const FORGOTTEN_MS = 5 * 60_000;

/**
 * The sends of a device and where each is:
 *
 *   waiting -> loading -> active -> finished
 *                           |
 *                         aside (all who are left wait for the network to lift a restriction, or, where a list
 *                                waits for the place, for the end of a pause)
 *
 * Lists beyond `MAX_LISTS` wait in Redis, see `WaitingLists`, and get a place when another gives it up. Of what is aside this process
 * has the id and no recipient; should it end, the next owner finds the record.
 * OTPs never wait.
 */
export class ActiveSends extends PlacedSends {
  private readonly lists: WaitingLists;
  private readonly aside = new Map<string, Aside>();
  /** Sends that are looked for once more when they have ended here: a Redis that forgot one may have accepted it anew. */
  private readonly again = new Map<string, Work>();
  /** People who wrote, by number: those aside are not yet compared with them. */
  private readonly sought = new Set<string>();
  private isSeeking = false;
  private seekAtMs = 0;
  /** When the first pause of those aside ends. */
  private wakeAtMs = Number.POSITIVE_INFINITY;
  private stopped = false;

  constructor(private readonly deps: ActiveSendsDeps) {
    super();
    const { monotonicMs, readPage, onUnreadable } = deps;
    const isWaiting = (messageId: string) =>
      !this.isPlaced(messageId) && (this.aside.get(messageId)?.isWaiting ?? true);
    const onFound = () => this.fillPlaces();
    this.lists = new WaitingLists({ monotonicMs, readPage, isWaiting, onFound, onUnreadable });
  }

  /** Nothing is here, and nothing waits for a place. */
  get isEmpty(): boolean {
    return this.countPlaced('otp') + this.countPlaced('bulk') + this.aside.size === 0 && this.lists.isEmpty;
  }

  /** Of all that are here. */
  ids(): string[] {
    const { active, loading, aside } = this;
    return [active.otp, active.bulk, loading.otp, loading.bulk, aside].flatMap((place) => [...place.keys()]);
  }

  /** Whether it is here. Of a list that waits in Redis for a place that is not so. */
  has(messageId: string): boolean {
    return this.isPlaced(messageId) || this.aside.has(messageId);
  }

  /** How many lists more may be active. */
  get room(): number {
    const lists = this.countPlaced('bulk');
    if (lists > 0 && this.deps.memory.isSpent) return 0;
    return Math.max(0, MAX_LISTS - lists);
  }

  /** Takes a send in, if it is not here yet: resolves when it is loaded, or waits for a place. Never rejects. */
  async takeIn(job: SendJob | Work): Promise<void> {
    if (this.stopped) return;
    if (this.has(job.messageId)) this.again.set(job.messageId, job);
    if (this.has(job.messageId)) return this.note(job);
    if (job.priority === 'otp' || this.room > 0) return this.work(job);
    this.lists.add(job);
    this.fillPlaces();
    await this.note(job);
  }

  /** So that this process is not woken for it once more. */
  private async note(job: Work): Promise<void> {
    await this.deps.note(job.messageId).catch((error: unknown) => this.deps.onUnloadable(job, toError(error)));
  }

  /**
   * Redis may have forgotten what became of some recipients, as a replica that is the master now: each send that is here is loaded once
   * more when it has ended here, and at once where it has just gone aside to be held. Only Redis knows who is held there: who is forgotten
   * would be released by nothing, and tried by nothing.
   */
  distrustRedis(): void {
    for (const { messageId, record } of this.all()) this.again.set(messageId, workOf(record));
    const { otp, bulk } = this.loading;
    for (const [messageId, work] of [...otp, ...bulk]) this.again.set(messageId, work);
    const sinceMs = this.deps.monotonicMs() - FORGOTTEN_MS;
    this.restart((aside) => aside.isHeld && !aside.isWaiting && aside.sinceMs >= sinceMs);
  }

  /** Takes in the lists that are open in Redis, as places are free. */
  takeInLists(): void {
    this.lists.look();
    this.fillPlaces();
  }

  /**
   * Releases sends with nothing left to do, or nothing for now, and takes others in their place.
   * @param send the only one of which something has changed.
   */
  settle(send?: SendProgress): void {
    if (send) this.settleOne(send);
    else for (const each of this.all()) this.settleOne(each);
    this.fillPlaces();
  }

  private settleOne(send: SendProgress): void {
    if (send.lookingUp > 0 || send.file.uploading || !this.isActive(send)) return;
    if (send.isDone) this.end(send);
    else if (send.isHeld) this.setHeldAside(send);
  }

  /** What Redis forgot of it is not held, and it may be aside for days: then it is loaded once more before. */
  private setHeldAside(send: SendProgress): void {
    if (this.again.has(send.messageId)) this.leave(send);
    else this.setAside(send);
    this.lookAgain(send.messageId);
  }

  private fillPlaces(): void {
    for (let list = this.lists.next; list && !this.stopped; list = this.lists.next) {
      if (this.room === 0) this.freePlace();
      if (this.room === 0) return;
      const aside = this.aside.get(list.messageId);
      void (aside ? this.takeUp(aside) : this.work({ ...list, priority: 'bulk' }));
    }
  }

  /** Sends whose pause is over get a place, or wait for one behind those that have come before. Called often. */
  wake(): void {
    const nowMs = this.deps.nowMs();
    if (this.room > 0) this.fillPlaces();
    if (this.sought.size > 0) void this.seek();
    if (this.wakeAtMs === Number.POSITIVE_INFINITY || !isOver(this.wakeAtMs, nowMs)) return;
    this.wakeAtMs = Number.POSITIVE_INFINITY;
    this.restart((aside) => isDue(aside, nowMs));
    for (const { rest, isWaiting } of this.aside.values())
      if (rest && !isWaiting) this.wakeAtMs = Math.min(this.wakeAtMs, rest.untilMs);
  }

  /** Its time is over: a place that it may still have is free. */
  drop(messageId: string): void {
    this.lists.remove(messageId);
    this.aside.delete(messageId);
    this.again.delete(messageId);
    this.find(messageId)?.dropWaiting();
  }

  /** The end of a restriction: all who waited for it go on. */
  resume(): void {
    for (const send of this.all()) send.releaseHeld();
    this.restart(({ isHeld }) => isHeld);
  }

  /** One person no longer waits, in any spelling of their number; the others do. Of sends aside that is so a moment later. */
  release(phone: string): void {
    const numbers = new Set(spellingsOf(phone));
    for (const send of this.all()) send.releaseHeld(numbers);
    if (this.heldAside().length === 0) return;
    this.sought.add(phone);
    void this.seek();
  }

  /** The number of one of those who wait for the end of a restriction. */
  async findHeld(isWanted: (number: string) => boolean): Promise<string | undefined> {
    for (const send of this.all()) {
      const found = send.heldNumbers().find(isWanted);
      if (found !== undefined) return found;
    }
    return this.deps.findHeldNumber(this.heldAside(), isWanted);
  }

  private heldAside(): MessageId[] {
    return [...this.aside.values()]
      .filter(({ isHeld, isWaiting }) => isHeld && !isWaiting)
      .map(({ work }) => work.messageId);
  }

  /** Takes up the sends aside that are held for people who wrote. Never rejects. */
  private async seek(): Promise<void> {
    const startedMs = this.deps.monotonicMs();
    if (this.isSeeking || this.stopped || startedMs < this.seekAtMs) return;
    this.isSeeking = true;
    const phones = [...this.sought].slice(0, MAX_SOUGHT);
    try {
      const holding = await this.deps.findHolding(this.heldAside(), phones);
      for (const phone of phones) this.sought.delete(phone);
      this.restart(({ work }) => holding.has(work.messageId), new Set(phones.flatMap(spellingsOf)));
    } catch (thrown) {
      this.deps.onUnreadable(toError(thrown));
      // They are sought again at the next wake.
    }
    const endedMs = this.deps.monotonicMs();
    this.seekAtMs = endedMs + REST_FACTOR * (endedMs - startedMs);
    this.isSeeking = false;
  }

  /** Takes no more. */
  stop(): void {
    this.stopped = true;
    for (const send of this.all()) this.leave(send);
    this.aside.clear();
    this.sought.clear();
  }

  /** Of those that only wait for the end of a pause the one that has had no turn for the longest time goes aside. */
  private freePlace(): void {
    const nowMs = this.deps.nowMs();
    for (const send of this.active.bulk.values()) {
      const rest = send.restAt(nowMs);
      if (!rest) continue;
      this.setAside(send, rest);
      return;
    }
  }

  private setAside(send: SendProgress, rest?: Rest): void {
    const sinceMs = this.deps.monotonicMs();
    this.aside.set(send.messageId, { work: workOf(send.record), isHeld: send.hasHeld, rest, sinceMs });
    this.wakeAtMs = Math.min(this.wakeAtMs, rest?.untilMs ?? Number.POSITIVE_INFINITY);
    this.leave(send);
  }

  private leave(send: SendProgress): void {
    this.displace(send);
    this.deps.memory.giveBack(send.bytes);
  }

  private end(send: SendProgress): void {
    this.leave(send);
    this.deps.onFinished(send);
    this.lookAgain(send.messageId);
  }

  private lookAgain(messageId: string): void {
    const work = this.again.get(messageId);
    if (work && !this.has(messageId) && this.again.delete(messageId)) void this.takeIn(work);
  }

  /** These get a place, or wait for one. */
  private restart(isWanted: (aside: Aside) => boolean, first?: ReadonlySet<string>): void {
    for (const aside of [...this.aside.values()].filter(isWanted)) {
      if (first) aside.first = first;
      if (aside.work.priority === 'otp' || this.room > 0) void this.takeUp(aside);
      else {
        aside.isWaiting = true;
        this.lists.add(aside.work);
      }
    }
  }

  private takeUp(aside: Aside): Promise<void> {
    this.aside.delete(aside.work.messageId);
    return this.work(aside.work, aside);
  }

  private async work(work: Work, back?: Aside): Promise<void> {
    const { messageId, requestId } = work;
    const { device } = this.deps.address;
    if (work.priority === 'otp') this.deps.onOtp();
    await runInContext({ messageId, device, ...(requestId && { requestId }) }, () => this.load(work, back));
  }

  private async load(work: Work, back?: Aside): Promise<void> {
    const { messageId, priority } = work;
    const { memory } = this.deps;
    const reservedBytes = priority === 'otp' ? 0 : UNREAD_BYTES;
    memory.take(reservedBytes);
    this.loading[priority].set(messageId, work);
    let loaded: SendProgress | undefined;
    try {
      const options = { rest: back?.rest, isUrgent: priority === 'otp', isOver: () => this.stopped };
      const send = await this.deps.load(messageId, options);
      if (!send || this.stopped) return;
      if (send === 'later') return this.loadAgain(work);
      if (back?.first) send.putFirst(back.first);
      this.place(send);
      memory.take(send.bytes);
      loaded = send;
    } catch (thrown) {
      this.deps.onUnloadable(work, toError(thrown));
      if (!this.stopped) this.loadAgain(work);
    } finally {
      memory.giveBack(reservedBytes);
      this.loading[priority].delete(messageId);
      this.lookAgain(messageId);
      this.deps.onLoaded(loaded);
    }
  }

  private loadAgain(work: Work): void {
    const untilMs = this.deps.nowMs() + AGAIN_MS;
    const rest = { untilMs, attempts: 0, uploadAttempts: 0 };
    this.aside.set(work.messageId, { work, isHeld: false, rest, sinceMs: this.deps.monotonicMs() });
    this.wakeAtMs = Math.min(this.wakeAtMs, untilMs);
  }
}

function isDue({ rest, isWaiting }: Aside, nowMs: number): boolean {
  return rest !== undefined && !isWaiting && isOver(rest.untilMs, nowMs);
}

function workOf({ messageId, requestId, priority }: SendRecord): Work {
  return { messageId, requestId, priority };
}
