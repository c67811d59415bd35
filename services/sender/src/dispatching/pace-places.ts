import type { Pace } from '@gateway/contracts/devices/pace';
import type { Clock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { furthestMs, mostLateMs, takePlaces } from '@gateway/store/sends/pace';
import { messagesAhead } from './library-turns.js';

export interface PacePlacesDeps {
  store: Store;
  ownership: Ownership;
  clock: Clock;
  currentPace(): Pace;
  /** So many messages could go out now, if the pace let them. */
  countReady(): number;
}

/**
 * A place is given back when no message has used it for so long: another owner may have use for it. Nor are places of a time further
 * ahead asked for, so that a careful pace has one at most.
 */
const KEPT_MS = 500;
/** So many round trips after a question comes the last place that it may get: the answer to the next one is there before. */
const AHEAD_TRIPS = 2;

/** Times are those of the monotonic clock. */
interface Place {
  /** It may be used from then on. */
  atMs: number;
  answeredAtMs: number;
  /** Until the next one. */
  gapMs: number;
  /** The state of the pace before it, as Redis writes it. */
  fromMs: string;
}

/**
 * Places in the pace, asked for several messages at a time, and before the last one is used, so that a round trip to Redis does not bound
 * the device. Each counts from when it is used, however late its answer came: the pace of what goes out is exact. If this process dies, those
 * that were not used are lost: the device is slower by them, never faster. If Redis loses its last write, in a failover, they are given once more.
 */
export class PacePlaces {
  private readonly places: Place[] = [];
  /** That the places are of. */
  private pace: Pace | undefined;
  /** The state of the pace after the last of them. */
  private untilMs = '';
  /** When a further one may be used. */
  private nextAtMs = Number.NEGATIVE_INFINITY;
  /** The state of the pace as it is by what was used. */
  private usedUntilMs = Number.NEGATIVE_INFINITY;
  private lastUsed: { place: Place; usedUntilMs: number } | undefined;
  /** What the last two questions took. */
  private readonly trips = [0, 0];
  private asking: Promise<void> | undefined;

  constructor(private readonly deps: PacePlacesDeps) {}

  /** Takes a place for one message: 0 to go ahead, else the ms to wait before asking again. */
  async take(): Promise<number> {
    const pace = this.deps.currentPace();
    this.lastUsed = undefined;
    if (pace.messagesPerMinute === 0) return 0;
    let waitMs = this.takeKept(pace);
    if (waitMs === undefined) {
      await (this.asking ?? this.ask(pace, { most: Math.max(1, this.mostReady()), keeps: false }));
      // Where the answer took longer than the wait that it tells: ask again.
      waitMs = this.takeKept(pace) ?? 1;
    }
    if (waitMs === 0) this.askAhead(pace);
    return waitMs;
  }

  /** The message that took the last place is not the next one after all. */
  putBack(): void {
    if (!this.lastUsed) return;
    this.places.unshift(this.lastUsed.place);
    this.usedUntilMs = this.lastUsed.usedUntilMs;
    this.lastUsed = undefined;
  }

  /** What was not used is for the next owner. */
  async giveBack(): Promise<void> {
    await this.asking?.catch(() => {});
    if (this.pace && this.places.length > 0) await this.ask(this.pace, { most: 0, keeps: false });
  }

  /** `undefined`: Redis has to be asked. */
  private takeKept(pace: Pace): number | undefined {
    if (this.pace !== pace) return undefined;
    const nowMs = this.deps.clock.monotonicMs();
    const [place] = this.places;
    const mayMs = Math.max(place?.atMs ?? this.nextAtMs, this.usedUntilMs - toleranceMs(pace));
    const actAtMs = place ? mayMs : mayMs - this.aheadMs;
    if (actAtMs > nowMs) return Math.ceil(actAtMs - nowMs);
    if (!place || nowMs - Math.max(mayMs, place.answeredAtMs) > KEPT_MS) return undefined;
    this.places.shift();
    this.lastUsed = { place, usedUntilMs: this.usedUntilMs };
    const isInTime = this.usedUntilMs >= nowMs - mostLateMs(pace);
    this.usedUntilMs = (isInTime ? this.usedUntilMs : nowMs) + place.gapMs;
    return 0;
  }

  /** The message that has taken its place is still counted as ready. */
  private askAhead(pace: Pace): void {
    const nowMs = this.deps.clock.monotonicMs();
    const lastMs = this.places.at(-1)?.atMs ?? nowMs;
    if (this.asking || this.nextAtMs - this.aheadMs > nowMs || lastMs - nowMs > this.tripMs) return;
    const most = this.mostReady() - 1 - this.places.length;
    // Who asks next is told what is wrong.
    if (most > 0) void this.ask(pace, { most, keeps: true }).catch(() => {});
  }

  /** As many as may start at once, and as many more, which are used while the next ones are asked for. */
  private mostReady(): number {
    return Math.min(this.deps.countReady(), 2 * messagesAhead(this.tripMs));
  }

  private get aheadMs(): number {
    return Math.min(KEPT_MS, AHEAD_TRIPS * this.tripMs);
  }

  private get tripMs(): number {
    return Math.max(...this.trips);
  }

  /** @param keeps the places that there are; else they are given back. */
  private ask(pace: Pace, { most, keeps }: { most: number; keeps: boolean }): Promise<void> {
    const { store, ownership, clock } = this.deps;
    const unused = keeps ? [] : this.places.splice(0);
    const [nowMs, askedAtMs] = [clock.nowMs(), clock.monotonicMs()];
    const { aheadMs } = this;
    // A slower pace was ahead by more.
    this.usedUntilMs = Math.min(this.usedUntilMs, askedAtMs + furthestMs(pace));
    const keptMs = this.places.reduce((sum, { gapMs }) => sum + gapMs, 0);
    const asked = takePlaces(store, ownership, {
      ...{ pace, nowMs, most, aheadMs },
      usedUntilMs: Math.max(0, nowMs + this.usedUntilMs + keptMs - askedAtMs),
      unused: unused[0] && { fromMs: unused[0].fromMs, untilMs: this.untilMs },
    });
    const taken = asked.then(({ dues, waitsMs, askAgainMs }) => {
      const answeredAtMs = clock.monotonicMs();
      this.trips.shift();
      this.trips.push(answeredAtMs - askedAtMs);
      for (const [i, waitMs] of waitsMs.entries()) {
        const gapMs = Number(dues[i + 1]) - Number(dues[i]);
        this.places.push({ atMs: askedAtMs + waitMs, answeredAtMs, gapMs, fromMs: dues[i]! });
      }
      this.pace = pace;
      this.untilMs = dues.at(-1)!;
      this.nextAtMs = askedAtMs + askAgainMs + aheadMs;
    });
    this.asking = taken.finally(() => {
      this.asking = undefined;
    });
    return this.asking;
  }
}

function toleranceMs({ messagesPerMinute, burst }: Pace): number {
  return ((burst - 1) * 60_000) / messagesPerMinute;
}
