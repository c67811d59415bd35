import type { DeviceAddress } from '@gateway/contracts/ids';
import type { SendJob } from '@gateway/contracts/jobs';
import { spellingsOf } from '@gateway/contracts/people/phone-number';
import { toError } from '@gateway/runtime/errors';
import { runInContext } from '@gateway/runtime/logs/context';
import type { SendRecord } from '@gateway/store/sends/read-send';
import type { Rest, SendProgress, WorkItem } from './send-progress.js';
import { type WaitingList, WaitingLists, type WaitingListsDeps } from './waiting-lists.js';

export interface ActiveSendsDeps {
  address: DeviceAddress;
  monotonicMs(): number;
  nowMs(): number;
  /** `undefined`: nothing is left to do. `later`: what it needs is not there. */
  load(messageId: string, options: LoadOptions): Promise<SendProgress | 'later' | undefined>;
  /** It is known here, and will be loaded later: no one need wake this process for it. */
  note(messageId: string): Promise<void>;
  /** A send is active, or its place is free: `settle` is due. */
  onLoaded(): void;
  onFinished(send: SendProgress): void;
  /** It cannot be loaded: it is loaded again a minute later. */
  onUnloadable(send: Work, error: Error): void;
  /** See `WaitingLists`. */
  readPage: WaitingListsDeps['readPage'];
  onUnreadable: WaitingListsDeps['onUnreadable'];
}

export interface LoadOptions {
  /** Of a send that gave up its place. */
  rest?: Rest | undefined;
}

/** A send in which all who are left wait: strangers for the network, others for the end of a pause. */
interface Aside {
  work: Work;
  /** The numbers of those who are held, 8 bytes each, and not the send: there may be thousands of long lists. */
  held: Float64Array;
  rest: Rest | undefined;
  /** It waits for a place, and for nothing else. */
  isWaiting?: true;
  /** These people are the first of it, once it is taken up again. */
  first?: ReadonlySet<string>;
}

/** A send that is to be worked on. */
type Work = WaitingList & Pick<SendJob, 'priority'>;

/** Each is in memory as a whole. */
const MAX_LISTS = 150;
/** One that could not be loaded is loaded again. */
const AGAIN_MS = 60_000;
/** So long after its job came an OTP has the device to itself. Longer, and one that is stuck would hold up the lists. */
const OTP_FIRST_MS = 1_000;

/**
 * The sends of a device and where each is:
 *
 *   waiting -> loading -> active -> finished
 *                           |
 *                         aside (all who are left wait for the network to lift a restriction, or, where a list
 *                                waits for the place, for the end of a pause)
 *
 * Lists beyond `MAX_LISTS` wait in Redis, see `WaitingLists`, and get a place when another gives it up. What is aside costs next
 * to nothing in this process; should it end, the next owner finds the record.
 * OTPs never wait.
 */
export class ActiveSends {
  private readonly active = new Map<string, SendProgress>();
  private readonly loading = new Map<string, SendJob['priority']>();
  private otpFirstUntilMs = 0;
  private readonly lists: WaitingLists;
  private readonly aside = new Map<string, Aside>();
  /** When the first pause of those aside ends. */
  private wakeAtMs = Number.POSITIVE_INFINITY;
  private stopped = false;

  constructor(private readonly deps: ActiveSendsDeps) {
    const { nowMs, readPage, onUnreadable } = deps;
    const isWaiting = (messageId: string) =>
      !this.isPlaced(messageId) && (this.aside.get(messageId)?.isWaiting ?? true);
    const onFound = () => this.fillPlaces();
    this.lists = new WaitingLists({ nowMs, readPage, isWaiting, onFound, onUnreadable });
  }

  /** Of all that are here. */
  ids(): string[] {
    return [this.active, this.loading, this.aside].flatMap((place) => [...place.keys()]);
  }

  /** Whether it is here. Of a list that waits in Redis for a place that is not so. */
  has(messageId: string): boolean {
    return this.isPlaced(messageId) || this.aside.has(messageId);
  }

  private isPlaced(messageId: string): boolean {
    return this.active.has(messageId) || this.loading.has(messageId);
  }

  /** How many lists more may be active. */
  get room(): number {
    return Math.max(0, MAX_LISTS - this.active.size - this.loading.size);
  }

  /** Takes a send in, if it is not here yet: resolves when it is loaded, or waits for a place. Never rejects. */
  async takeIn(job: SendJob): Promise<void> {
    if (this.stopped) return;
    if (this.has(job.messageId)) return this.note(job);
    if (job.priority === 'otp' || this.room > 0) return this.work(job);
    this.lists.add(job);
    this.fillPlaces();
    await this.note(job);
  }

  /** So that this process is not woken for it once more. */
  private async note(job: SendJob): Promise<void> {
    await this.deps.note(job.messageId).catch((error: unknown) => this.deps.onUnloadable(job, toError(error)));
  }

  /** Takes in the lists that are open in Redis, as places are free. */
  takeInLists(): void {
    this.lists.look();
    this.fillPlaces();
  }

  /**
   * From its job to its message an OTP has the device to itself. What lists do meanwhile would come before it: their
   * lookups fill the event loop, and their messages the library's queue.
   */
  get otpWaits(): boolean {
    if (this.deps.monotonicMs() >= this.otpFirstUntilMs) return false;
    for (const priority of this.loading.values()) if (priority === 'otp') return true;
    for (const send of this.active.values()) if (isOtp(send) && send.wantsToGo) return true;
    return false;
  }

  hasReady({ otpOnly }: { otpOnly: boolean }): boolean {
    for (const send of this.active.values()) if (send.hasReady && (!otpOnly || isOtp(send))) return true;
    return false;
  }

  /**
   * Whether the next message is to go out with nothing else under way: after all others, for it may end this process. Where
   * owners have ended in a row, nothing of a suspect send goes out before one has lasted: the pauses between owners would
   * grow with each, and codes and other lists wait for their ends. Elsewhere a recipient who is the only suspect of a send
   * has their turn at once, as they may be innocent.
   */
  wantsAlone({ isCareful }: { isCareful: boolean }): boolean {
    const sends = [...this.active.values()];
    const waiting = sends.filter((send) => send.hasAlone && !(isCareful && send.isSuspect));
    if (waiting.length === 0) return false;
    if (!isCareful && waiting.some((send) => !send.isSuspect)) return true;
    return this.loading.size === 0 && !sends.some((send) => !send.isSuspect && send.wantsToGo);
  }

  get nextAlone(): WorkItem | undefined {
    return this.inTurn().find((send) => send.hasAlone)?.nextAlone;
  }

  /** OTPs first, then the lists, each behind those that had their turn before, and behind those less suspect. */
  inTurn(): SendProgress[] {
    const sends = [...this.active.values()];
    const lists = sends.filter((send) => !isOtp(send)).sort((a, b) => a.suspicion - b.suspicion);
    return [...sends.filter(isOtp), ...lists];
  }

  /** The message whose turn it is. It stays where it is until it is taken. */
  next({ otpOnly = false } = {}): WorkItem | undefined {
    const send = this.inTurn().find(({ hasReady }) => hasReady);
    return send && (isOtp(send) || !otpOnly) ? send.nextReady : undefined;
  }

  /** It is sent now; `false`: it must not be sent any more. */
  take(item: WorkItem): boolean {
    const { send } = item;
    if (!send.take(item)) return false;
    // To the back of the map: the next list has its turn.
    if (!item.isAlone && this.active.delete(send.messageId)) this.active.set(send.messageId, send);
    return true;
  }

  /** Releases sends with nothing left to do, or nothing for now, and takes others in their place. */
  settle(): void {
    for (const send of this.active.values()) {
      if (send.lookingUp || send.file.uploading) continue;
      if (send.isHeld) this.setAside(send);
      else if (send.isDone) this.end(send);
    }
    this.fillPlaces();
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
    if (nowMs < this.wakeAtMs) return;
    this.wakeAtMs = Number.POSITIVE_INFINITY;
    this.restart((aside) => isDue(aside, nowMs));
    for (const { rest, isWaiting } of this.aside.values())
      if (rest && !isWaiting) this.wakeAtMs = Math.min(this.wakeAtMs, rest.untilMs);
  }

  /** Its time is over: a place that it may still have is free. */
  drop(messageId: string): void {
    this.lists.remove(messageId);
    this.aside.delete(messageId);
    this.active.get(messageId)?.dropWaiting();
  }

  /** The end of a restriction: all who waited for it go on. */
  resume(): void {
    for (const send of this.active.values()) send.releaseHeld();
    this.restart(({ held }) => held.length > 0);
  }

  /** One person no longer waits, in any spelling of their number; the others do. */
  release(phone: string): void {
    const numbers = new Set(spellingsOf(phone));
    for (const send of this.active.values()) send.releaseHeld(numbers);
    const waits = ({ held }: Aside) => [...numbers].some((number) => held.includes(Number(number)));
    this.restart(waits, numbers);
  }

  /** The number of one of those who wait for the end of a restriction. */
  findHeld(isWanted: (number: string) => boolean): string | undefined {
    for (const send of this.active.values()) {
      const found = send.heldNumbers().find(isWanted);
      if (found !== undefined) return found;
    }
    for (const { held, isWaiting } of this.aside.values()) {
      if (isWaiting) continue;
      const found = held.find((number) => isWanted(String(number)));
      if (found !== undefined) return String(found);
    }
    return undefined;
  }

  /** Takes no more. */
  stop(): void {
    this.stopped = true;
    this.active.clear();
    this.aside.clear();
  }

  /** Of those that only wait for the end of a pause the one that has had no turn for the longest time goes aside. */
  private freePlace(): void {
    const nowMs = this.deps.nowMs();
    for (const send of this.active.values()) {
      const rest = send.restAt(nowMs);
      if (!rest) continue;
      this.setAside(send, rest);
      return;
    }
  }

  private setAside(send: SendProgress, rest?: Rest): void {
    const held = Float64Array.from(send.heldNumbers(), Number);
    this.aside.set(send.messageId, { work: workOf(send.record), held, rest });
    this.wakeAtMs = Math.min(this.wakeAtMs, rest?.untilMs ?? Number.POSITIVE_INFINITY);
    this.active.delete(send.messageId);
  }

  private end(send: SendProgress): void {
    this.active.delete(send.messageId);
    this.deps.onFinished(send);
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
    if (work.priority === 'otp') this.otpFirstUntilMs = this.deps.monotonicMs() + OTP_FIRST_MS;
    await runInContext({ ...(requestId && { requestId }), messageId, device }, () => this.load(work, back));
  }

  private async load(work: Work, back?: Aside): Promise<void> {
    const { messageId, priority } = work;
    this.loading.set(messageId, priority);
    try {
      const send = await this.deps.load(messageId, { rest: back?.rest });
      if (!send || this.stopped) return;
      if (send === 'later') return this.loadAgain(work);
      if (back?.first) send.putFirst(back.first);
      this.active.set(messageId, send);
    } catch (thrown) {
      this.deps.onUnloadable(work, toError(thrown));
      if (!this.stopped) this.loadAgain(work);
    } finally {
      this.loading.delete(messageId);
      this.deps.onLoaded();
    }
  }

  private loadAgain(work: Work): void {
    const untilMs = this.deps.nowMs() + AGAIN_MS;
    this.aside.set(work.messageId, { work, held: NO_NUMBERS, rest: { untilMs, attempts: 0, uploadAttempts: 0 } });
    this.wakeAtMs = Math.min(this.wakeAtMs, untilMs);
  }
}

const NO_NUMBERS = new Float64Array();

function isDue({ rest, isWaiting }: Aside, nowMs: number): boolean {
  return rest !== undefined && !isWaiting && rest.untilMs <= nowMs;
}

function isOtp({ record }: SendProgress): boolean {
  return record.priority === 'otp';
}

function workOf({ messageId, requestId, priority }: SendRecord): Work {
  return { messageId, requestId, priority };
}

/** What wakes a send up: the same in every service. */
export function toJob(address: DeviceAddress, record: SendRecord): SendJob {
  const { messageId, requestId } = record;
  return { v: 1, ...address, messageId, priority: record.priority, requestId };
}
