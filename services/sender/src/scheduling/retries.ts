/** A recipient whose last attempt failed for now, and when the next one is due. */
interface Retry {
  index: number;
  atMs: number;
}

const FIRST_MS = 2_000;
const LONGEST_MS = 5 * 60_000;

/** The recipients of a send who wait for their next attempt, after pauses that double. */
export class Retries {
  private list: Retry[] = [];
  private readonly attempts = new Map<number, number>();

  /** @param attemptsBefore of each recipient, before the send gave up its place. */
  constructor(readonly attemptsBefore = 0) {}

  get size(): number {
    return this.list.length;
  }

  get indices(): number[] {
    return this.list.map(({ index }) => index);
  }

  later(index: number, nowMs: number): void {
    const attempts = this.attemptsOf(index);
    this.attempts.set(index, attempts + 1);
    this.add([index], nowMs + pauseAfter(attempts));
  }

  add(indices: readonly number[], atMs: number): void {
    this.list.push(...indices.map((index) => ({ index, atMs })));
  }

  takeDue(nowMs: number): number[] {
    const due = this.list.filter(({ atMs }) => atMs <= nowMs);
    if (due.length > 0) this.list = this.list.filter(({ atMs }) => atMs > nowMs);
    return due.map(({ index }) => index);
  }

  keep(isWanted: (index: number) => boolean): void {
    this.list = this.list.filter(({ index }) => isWanted(index));
  }

  /** The next pause of this recipient is a short one again. */
  forget(index: number): void {
    this.attempts.delete(index);
  }

  /** When the first and the last of them are due, and the most attempts that one of them has behind them. */
  summary(): { firstMs: number; lastMs: number; attempts: number } {
    let [firstMs, lastMs, attempts] = [Number.POSITIVE_INFINITY, 0, 0];
    for (const { index, atMs } of this.list) {
      firstMs = Math.min(firstMs, atMs);
      lastMs = Math.max(lastMs, atMs);
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
  return Math.min(FIRST_MS * 2 ** attempts, LONGEST_MS);
}
