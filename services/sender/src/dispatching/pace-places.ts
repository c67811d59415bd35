import type { Pace } from '@gateway/contracts/devices/pace';
import type { Clock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { type PacePlaces as Places, takePlaces } from '@gateway/store/sends/pace';

export interface PacePlacesDeps {
  store: Store;
  ownership: Ownership;
  clock: Clock;
  currentPace(): Pace;
  /** So many messages could go out now, if the pace let them. */
  countReady(): number;
  /** How far Redis is, see `RedisDistance`. */
  distance: { readonly ms: number };
}

/** A place is given back when no message has used it for so long: later it would come on top of a burst. */
const KEPT_MS = 500;
/** From a question to the use of the last place that it got: two round trips, so that one is under way while places last. */
const AHEAD_TRIPS = 2;

interface Kept extends Places {
  pace: Pace;
  askedAtMs: number;
  answeredAtMs: number;
  used: number;
}

/**
 * Places in the pace, asked for several messages at a time, so that a round trip to Redis does not bound the device. While Redis is near they
 * are as many as messages may start at once. If this process dies those that were not used are lost: the device is slower by them, never faster.
 */
export class PacePlaces {
  private kept: Kept | undefined;

  constructor(private readonly deps: PacePlacesDeps) {}

  /** Takes a place for one message: 0 to go ahead, else the ms to wait before asking again. */
  async take(): Promise<number> {
    const pace = this.deps.currentPace();
    if (pace.messagesPerMinute === 0) return 0;
    const waitMs = this.takeKept(pace);
    if (waitMs !== undefined) return waitMs;
    await this.ask(pace, Math.max(1, this.deps.countReady()));
    // Where the answer took longer than the wait that it tells: ask again.
    return this.takeKept(pace) ?? 1;
  }

  /** What was not used is for the next owner. */
  async giveBack(): Promise<void> {
    const { kept } = this;
    if (kept && kept.used < kept.waitsMs.length) await this.ask(kept.pace, 0);
  }

  /** `undefined`: Redis has to be asked. */
  private takeKept(pace: Pace): number | undefined {
    const { kept } = this;
    if (kept?.pace !== pace) return undefined;
    const nowMs = this.deps.clock.monotonicMs();
    const nextMs = kept.waitsMs[kept.used];
    const dueMs = kept.askedAtMs + (nextMs ?? kept.againMs);
    if (dueMs > nowMs) return Math.ceil(dueMs - nowMs);
    if (nextMs === undefined || nowMs - Math.max(dueMs, kept.answeredAtMs) > KEPT_MS) return undefined;
    kept.used++;
    return 0;
  }

  private async ask(pace: Pace, most: number): Promise<void> {
    const { store, ownership, clock, distance } = this.deps;
    const { kept } = this;
    this.kept = undefined;
    const [nowMs, askedAtMs] = [clock.nowMs(), clock.monotonicMs()];
    const aheadMs = AHEAD_TRIPS * distance.ms;
    const unused = kept && { places: kept, from: kept.used };
    const places = await takePlaces(store, ownership, { pace, nowMs, most, aheadMs, unused });
    this.kept = { ...places, pace, askedAtMs, answeredAtMs: clock.monotonicMs(), used: 0 };
  }
}
