import { setTimeout as delay } from 'node:timers/promises';

/** The library encrypts one message at a time: one at work and one behind it keep it busy. */
const MAX_WRITING = 2;
/** Enough for a round trip to Redis of 50 ms, of messages that take 2 ms each. Each waits for no more than as many others. */
const MAX_AHEAD = 24;
/** A message takes a millisecond, and a claim up to three times what its round trip takes when the process is busy. */
const AHEAD_PER_MS = 3;
/** So long a code keeps others from their turns: they are not yet given back then, which would cost them a second place in the pace. */
const LONGEST_HOLD_MS = 50;

type Waiter = (isOurs: boolean) => void;

/** So many messages are under way to the library at a time, where Redis answers in so many ms. */
export function messagesAhead(ms: number): number {
  return MAX_WRITING + Math.min(MAX_AHEAD, Math.floor(ms * AHEAD_PER_MS));
}

/**
 * Who goes to the library next, and how many messages are claimed before it is free for them: none while Redis is near,
 * and as many as keep the library busy while it is far away.
 */
export class LibraryTurns {
  /** More than lists ever may, also those who were claimed while Redis seemed farther away: a code waits for no claim of theirs. */
  readonly limitOfOtps = 2 * MAX_WRITING + MAX_AHEAD;
  private writing = 0;
  private readonly waiting = { codes: [] as Waiter[], others: [] as Waiter[] };
  private urgentWork = 0;
  private isOver = false;

  /** @param distance how long a claim takes at least, in ms. */
  constructor(private readonly distance: { readonly ms: number }) {}

  /** So many messages may be started and not yet written. */
  get limit(): number {
    return messagesAhead(this.distance.ms);
  }

  /**
   * Resolves when a claimed message may go to the library: `give` the turn back when it is written. With `false` it never
   * may: there are no more turns.
   */
  take({ isUrgent }: { isUrgent: boolean }): Promise<boolean> {
    if (this.isOver) return Promise.resolve(false);
    const { codes, others } = this.waiting;
    return new Promise((resolve) => {
      (isUrgent ? codes : others).push(resolve);
      this.giveNext();
    });
  }

  give(): void {
    this.writing--;
    this.giveNext();
  }

  /** While this runs codes only have turns, for a moment at most. */
  async urgently(work: () => Promise<void>): Promise<void> {
    this.urgentWork++;
    await Promise.race([work(), delay(LONGEST_HOLD_MS, undefined, { ref: false })]);
    this.urgentWork--;
    this.giveNext();
  }

  private giveNext(): void {
    const { codes, others } = this.waiting;
    while (this.writing < MAX_WRITING) {
      const next = codes.shift() ?? (this.urgentWork === 0 ? others.shift() : undefined);
      if (!next) return;
      this.writing++;
      next(true);
    }
  }

  /** The library may be stuck: those who wait must not be counted among the messages that it had. */
  end(): void {
    this.isOver = true;
    for (const refuse of Object.values(this.waiting).flatMap((all) => all.splice(0))) refuse(false);
  }
}
