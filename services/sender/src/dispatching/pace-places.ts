import type { Pace } from '@gateway/contracts/devices/pace';
import type { Clock } from '@gateway/runtime/clock';
import type { Store } from '@gateway/store/core/store';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { type GivenPlaces, takePlaces } from '@gateway/store/sends/pace';

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

/**
 * A place is given back when no message has used it for so long: later it would come on top of a burst. Nor are places of a time
 * further ahead asked for, so that a careful pace has one at most.
 */
const KEPT_MS = 500;
/** One passes before the answer is here. */
const AHEAD_TRIPS = 2;

interface Kept extends GivenPlaces {
  pace: Pace;
  askedAtMs: number;
  aheadMs: number;
  answeredAtMs: number;
  used: number;
}

/**
 * Places in the pace, asked for several messages at a time, so that a round trip to Redis does not bound the device. Those whose time
 * passed while the answer was under way go out together: one for each gap of that time. If this process dies, those that were not used
 * are lost: the device is slower by them, never faster. If Redis loses its last write, in a failover, they are given once more.
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
    const dueMs = kept.askedAtMs + (nextMs ?? kept.askAgainMs);
    if (dueMs > nowMs) return Math.ceil(dueMs - nowMs);
    // Meanwhile the bucket fills: after a slow answer only one is sure to be of use, so that the device does not stand still.
    const usableMs = Math.max(dueMs, kept.used === 0 ? kept.answeredAtMs : kept.askedAtMs + kept.aheadMs);
    if (nextMs === undefined || nowMs - usableMs > KEPT_MS) return undefined;
    kept.used++;
    return 0;
  }

  private async ask(pace: Pace, most: number): Promise<void> {
    const { store, ownership, clock, distance } = this.deps;
    const { kept } = this;
    this.kept = undefined;
    const [nowMs, askedAtMs] = [clock.nowMs(), clock.monotonicMs()];
    const aheadMs = Math.min(KEPT_MS, AHEAD_TRIPS * distance.ms);
    const unused = kept && { places: kept, from: kept.used };
    const places = await takePlaces(store, ownership, { pace, nowMs, most, aheadMs, unused });
    this.kept = { ...places, pace, askedAtMs, aheadMs, answeredAtMs: clock.monotonicMs(), used: 0 };
  }
}
