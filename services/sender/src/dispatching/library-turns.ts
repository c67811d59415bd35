/** The library encrypts one message at a time: one at work and one behind it keep it busy. */
const MAX_WRITING = 2;
/** Enough for a round trip to Redis of 50 ms. Each waits for the library no longer than the messages of so many take. */
const MAX_AHEAD = 24;

/**
 * How many messages are claimed before the library is free for them: none while Redis answers faster than the library
 * encrypts, and one more each time that the library has nothing to do while claims are under way.
 */
export class LibraryTurns {
  private writing = 0;
  private ahead = 0;
  private readonly waiting: (() => void)[] = [];

  /** @param countStarted messages that are being claimed, wait for their turn, or have it. */
  constructor(private readonly countStarted: () => number) {}

  /** So many messages may be started and not yet written. */
  get limit(): number {
    return MAX_WRITING + this.ahead;
  }

  /** More than lists may: a code waits for no claim of theirs. */
  get limitOfOtps(): number {
    return this.limit + MAX_WRITING;
  }

  /** Resolves when a claimed message may go to the library: `give` the turn back when it is written. */
  async take({ isUrgent }: { isUrgent: boolean }): Promise<void> {
    if (this.writing < MAX_WRITING) {
      this.writing++;
      return;
    }
    if (this.waiting.length > 1 + this.ahead / 2) this.ahead--;
    await new Promise<void>((resolve) => {
      if (isUrgent) this.waiting.unshift(resolve);
      else this.waiting.push(resolve);
    });
  }

  give(): void {
    const next = this.waiting.shift();
    if (next) {
      next();
      return;
    }
    this.writing--;
    const lacksClaims = this.writing === 0 && this.countStarted() > 1;
    if (lacksClaims && this.ahead < MAX_AHEAD) this.ahead++;
  }
}
