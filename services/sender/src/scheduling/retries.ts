const FIRST_MS = 2_000;
export const LONGEST_PAUSE_MS = 5 * 60_000;
/** What the clock may be set by while all is well. */
const CLOCK_MS = 5_000;

/** Whether a pause is over; also one that would last longer than any, as it was begun while the clock was ahead. */
export function isOver(untilMs: number, nowMs: number): boolean {
  return untilMs <= nowMs || untilMs > nowMs + LONGEST_PAUSE_MS + CLOCK_MS;
}

/** What is kept of a send that gave up its place: all recipients that are not held get their next attempt at the same time. */
export interface Rest {
  /** When the last of its pauses is over: no attempt comes too early. */
  untilMs: number;
  /** The highest number of attempts among them: pauses go on doubling from there. */
  attempts: number;
  uploadAttempts: number;
}

/** How a send is loaded. */
export interface LoadOptions {
  /** Of one that gave up its place. */
  rest?: Rest | undefined;
  /** However large it is, it waits for no turn to be read. */
  isUrgent?: boolean;
  /** Whether it is not to be read any more, once its turn has come. */
  isOver?(): boolean;
}

/** When recipients whose last attempt failed for now get another attempt: after pauses that double. */
export class Retries {
  private readonly dueAtMs = new Map<number, number>();
  private readonly attempts = new Map<number, number>();
  /** Those whose pause has nothing to do with an attempt. */
  private readonly postponed = new Set<number>();

  /** @param attemptsBefore of each recipient, before the send gave up its place. */
  constructor(readonly attemptsBefore = 0) {}

  later(index: number, nowMs: number): void {
    const attempts = this.attemptsOf(index);
    this.attempts.set(index, attempts + 1);
    this.postponed.delete(index);
    this.at([index], nowMs + pauseAfter(attempts));
  }

  /** This is no attempt. */
  postpone(index: number, untilMs: number): void {
    this.at([index], untilMs);
    this.postponed.add(index);
  }

  countPostponed(indices: readonly number[]): number {
    return this.postponed.size === 0 ? 0 : indices.filter((index) => this.postponed.has(index)).length;
  }

  at(indices: readonly number[], dueAtMs: number): void {
    for (const index of indices) this.dueAtMs.set(index, dueAtMs);
  }

  isDue(index: number, nowMs: number): boolean {
    return isOver(this.dueAtMs.get(index) ?? 0, nowMs);
  }

  /** The next pause of this recipient is a short one again. */
  forget(index: number): void {
    this.attempts.delete(index);
    this.dueAtMs.delete(index);
    this.postponed.delete(index);
  }

  /**
   * Of those who pause: when the first of them is due, and the last of those who must not come earlier (of the others the gate
   * says so again), and the most attempts that one of them has behind them.
   */
  summary(indices: readonly number[]): { firstMs: number; lastMs: number; attempts: number } {
    let [firstMs, lastMs, attempts] = [Number.POSITIVE_INFINITY, 0, 0];
    for (const index of indices) {
      const atMs = this.dueAtMs.get(index) ?? 0;
      firstMs = Math.min(firstMs, atMs);
      if (!this.postponed.has(index)) lastMs = Math.max(lastMs, atMs);
      attempts = Math.max(attempts, this.attemptsOf(index));
    }
    return { firstMs, lastMs, attempts };
  }

  private attemptsOf(index: number): number {
    return this.attempts.get(index) ?? this.attemptsBefore;
  }
}

/** 2 s, twice as long after each attempt, five minutes at most. */
export function pauseAfter(attempts: number): number {
  return Math.min(FIRST_MS * 2 ** attempts, LONGEST_PAUSE_MS);
}
