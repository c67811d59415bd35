/** The library encrypts one message at a time: one at work and one behind it keep it busy. */
const MAX_WRITING = 2;
/** Enough for a round trip to Redis of 50 ms, of messages that take 2 ms each. Each waits for no more than as many others. */
const MAX_AHEAD = 24;
/** A message takes a millisecond, and a claim up to three times what its round trip takes when the process is busy. */
const AHEAD_PER_MS = 3;

type Waiter = (isOurs: boolean) => void;

/**
 * Who goes to the library next, and how many messages are claimed before it is free for them: none while Redis is near,
 * and as many as keep the library busy while it is far away.
 */
export class LibraryTurns {
  /** More than lists ever may, also those who were claimed while Redis seemed farther away: a code waits for no claim of theirs. */
  readonly limitOfOtps = 2 * MAX_WRITING + MAX_AHEAD;
  private writing = 0;
  private readonly waiting = { codes: [] as Waiter[], others: [] as Waiter[] };
  private isOver = false;

  /** @param distance how long a claim takes at least, in ms. */
  constructor(private readonly distance: { readonly ms: number }) {}

  /** So many messages may be started and not yet written. */
  get limit(): number {
    return MAX_WRITING + Math.min(MAX_AHEAD, Math.floor(this.distance.ms * AHEAD_PER_MS));
  }

  /**
   * Resolves when a claimed message may go to the library: `give` the turn back when it is written. With `false` it never
   * may: there are no more turns.
   */
  async take({ isUrgent }: { isUrgent: boolean }): Promise<boolean> {
    if (this.isOver) return false;
    if (this.writing < MAX_WRITING) {
      this.writing++;
      return true;
    }
    const { codes, others } = this.waiting;
    return new Promise((resolve) => (isUrgent ? codes : others).push(resolve));
  }

  give(): void {
    const next = this.waiting.codes.shift() ?? this.waiting.others.shift();
    if (next) next(true);
    else this.writing--;
  }

  /** The library may be stuck: those who wait must not be counted among the messages that it had. */
  end(): void {
    this.isOver = true;
    for (const refuse of Object.values(this.waiting).flatMap((all) => all.splice(0))) refuse(false);
  }
}
