import type { SendJob } from '@gateway/contracts/jobs';
import { ACTIVE_PLACES, type PlaceCounts } from './places.js';
import type { SendProgress, WorkItem } from './send-progress.js';
import type { WaitingList } from './waiting-lists.js';

/** A send that is to be worked on. */
export type Work = WaitingList & Pick<SendJob, 'priority'>;

/**
 * The sends of a device that have a place: in memory, or being loaded. Whose turn it is, is asked with each message; of callers who
 * send one by one there are as many sends as places.
 */
export abstract class PlacedSends {
  /** Each kind by turn. */
  protected readonly active: Record<SendJob['priority'], Map<string, SendProgress>> = {
    otp: new Map(),
    bulk: new Map(),
  };
  protected readonly loading: Record<SendJob['priority'], Map<string, Work>> = { otp: new Map(), bulk: new Map() };

  /** Those with suspects when they were loaded: hardly ever one. Only their recipients may have to go out alone. */
  private readonly suspicious = new Set<SendProgress>();

  /** Once they all were found to need nothing, none does until something changes. */
  private mayBeUnprepared = false;

  protected place(send: SendProgress): void {
    this.active[send.record.priority].set(send.messageId, send);
    this.mayBeUnprepared = true;
    send.onUnprepared = () => {
      this.mayBeUnprepared = true;
    };
    if (send.suspicion > 0) this.suspicious.add(send);
  }

  protected displace(send: SendProgress): void {
    this.active[send.record.priority].delete(send.messageId);
    this.suspicious.delete(send);
  }

  protected isPlaced(messageId: string): boolean {
    const { active, loading } = this;
    return [active.otp, active.bulk, loading.otp, loading.bulk].some((place) => place.has(messageId));
  }

  protected countPlaced(priority: SendJob['priority']): number {
    return this.active[priority].size + this.loading[priority].size;
  }

  protected *all(): Generator<SendProgress> {
    yield* this.active.otp.values();
    yield* this.active.bulk.values();
  }

  /** Whether an OTP has still to be loaded, looked up or sent. */
  get hasWaitingOtp(): boolean {
    return this.loading.otp.size > 0 || some(this.active.otp, ({ wantsToGo }) => wantsToGo);
  }

  hasReady({ otpOnly }: { otpOnly: boolean }): boolean {
    return some(this.active.otp, isReady) || (!otpOnly && some(this.active.bulk, isReady));
  }

  /** How many messages could go out now, counted up to `most`. */
  countReady({ most, otpOnly }: { most: number; otpOnly: boolean }): number {
    let ready = 0;
    for (const send of otpOnly ? this.active.otp.values() : this.all()) {
      if (send.hasReady) ready += send.count('ready');
      if (ready >= most) return most;
    }
    return ready;
  }

  /**
   * Whether the next message is to go out with nothing else under way: after all others, for it may end this process. Where
   * owners have ended in a row, nothing of a suspect send goes out before one has lasted: the pauses between owners would
   * grow with each, and codes and other lists wait for their ends. Elsewhere a recipient who is the only suspect of a send
   * has their turn at once, as they may be innocent.
   */
  wantsAlone({ isCareful }: { isCareful: boolean }): boolean {
    if (this.suspicious.size === 0) return false;
    const isAny = (isWanted: (send: SendProgress) => boolean) =>
      some(this.active.otp, isWanted) || some(this.active.bulk, isWanted);
    if (!isAny((send) => send.hasAlone && !(isCareful && send.isSuspect))) return false;
    if (!isCareful && isAny((send) => send.hasAlone && !send.isSuspect)) return true;
    const isLoading = this.loading.otp.size + this.loading.bulk.size > 0;
    return !isLoading && !isAny((send) => !send.isSuspect && send.wantsToGo);
  }

  get nextAlone(): WorkItem | undefined {
    return this.inTurn(({ hasAlone }) => hasAlone)[0]?.nextAlone;
  }

  /** Adds its recipients to these. */
  countPlaces(counts: PlaceCounts): void {
    for (const send of this.all()) for (const place of ACTIVE_PLACES) counts[place] += send.count(place);
  }

  /** Of these, OTPs first, then the lists, each behind those that had their turn before, and behind those less suspect. */
  inTurn(isWanted: (send: SendProgress) => boolean = () => true): SendProgress[] {
    const wanted = (sends: ReadonlyMap<string, SendProgress>) => {
      const found: SendProgress[] = [];
      for (const send of sends.values()) if (isWanted(send)) found.push(send);
      return found;
    };
    const lists = wanted(this.active.bulk);
    if (lists.some(isUnderSuspicion)) lists.sort((a, b) => a.suspicion - b.suspicion);
    return [...wanted(this.active.otp), ...lists];
  }

  /** Those with recipients to be looked up, now or after a pause, or with a file to be uploaded. Asked with each message. */
  get unprepared(): readonly SendProgress[] {
    if (!this.mayBeUnprepared) return [];
    const found = this.inTurn(({ mayWait, file }) => mayWait || file.isLacking);
    this.mayBeUnprepared = found.length > 0;
    return found;
  }

  /** The message whose turn it is. It stays where it is until it is taken. */
  next({ otpOnly = false } = {}): WorkItem | undefined {
    for (const code of this.active.otp.values()) if (code.hasReady) return code.nextReady;
    return otpOnly ? undefined : this.nextOfLists?.nextReady;
  }

  private get nextOfLists(): SendProgress | undefined {
    let least: SendProgress | undefined;
    for (const send of this.active.bulk.values()) {
      if (send.hasReady && (!least || send.suspicion < least.suspicion)) least = send;
      if (least?.suspicion === 0) break;
    }
    return least;
  }

  /** It is sent now; `false`: it must not be sent any more. */
  take(item: WorkItem): boolean {
    const { send } = item;
    if (!send.take(item)) return false;
    // To the back of the map: the next list has its turn.
    const sends = this.active[send.record.priority];
    if (!item.isAlone && sends.delete(send.messageId)) sends.set(send.messageId, send);
    return true;
  }

  protected find(messageId: string): SendProgress | undefined {
    return this.active.bulk.get(messageId) ?? this.active.otp.get(messageId);
  }

  protected isActive(send: SendProgress): boolean {
    return this.active[send.record.priority].get(send.messageId) === send;
  }
}

function isReady({ hasReady }: SendProgress): boolean {
  return hasReady;
}

function isUnderSuspicion({ suspicion }: SendProgress): boolean {
  return suspicion > 0;
}

function some(sends: ReadonlyMap<string, SendProgress>, isWanted: (send: SendProgress) => boolean): boolean {
  for (const send of sends.values()) if (isWanted(send)) return true;
  return false;
}
