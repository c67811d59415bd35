/** The shortest time of so many claims counts, and for as many more. */
const PERIOD = 32;
const MAX_UNSTORED = 64;
/** Keys and verdict of a message are two round trips, and are gathered before. */
const UNSTORED_PER_MS = 10;

/**
 * How far Redis is: the shortest time in which a claim was answered lately. Longer ones were longer because this process or
 * Redis was busy, and starting more work would not help.
 */
export class RedisDistance {
  private current = Number.POSITIVE_INFINITY;
  private before = Number.POSITIVE_INFINITY;
  private claims = 0;

  /** In ms, 0 before the first claim. */
  get ms(): number {
    const shortest = Math.min(this.current, this.before);
    return Number.isFinite(shortest) ? shortest : 0;
  }

  /** Messages whose verdict is not yet stored, beyond those that may be unanswered: the network does not wait for that. */
  get mostUnstored(): number {
    return Math.min(MAX_UNSTORED, Math.floor(this.ms * UNSTORED_PER_MS));
  }

  /** A claim was answered after so many ms. */
  note(ms: number): void {
    if (this.claims++ % PERIOD === 0) {
      this.before = this.current;
      this.current = Number.POSITIVE_INFINITY;
    }
    this.current = Math.min(this.current, ms);
  }
}
