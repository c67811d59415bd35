/** A recipient whose last try failed for now, and when the next one is due. */
interface Retry {
  index: number;
  atMs: number;
}

const FIRST_MS = 2_000;
const LONGEST_MS = 5 * 60_000;

/** The recipients of a send who wait for their next try, after pauses that double. */
export class Retries {
  private list: Retry[] = [];
  private readonly tries = new Map<number, number>();

  /** @param triesBefore of each recipient, before the send gave up its place. */
  constructor(readonly triesBefore = 0) {}

  get size(): number {
    return this.list.length;
  }

  get indices(): number[] {
    return this.list.map(({ index }) => index);
  }

  later(index: number, nowMs: number): void {
    const tries = this.triesOf(index);
    this.tries.set(index, tries + 1);
    this.add([index], nowMs + pauseAfter(tries));
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
    this.tries.delete(index);
  }

  /** When the first and the last of them are due, and the most attempts that one of them has behind them. */
  summary(): { firstMs: number; lastMs: number; tries: number } {
    let [firstMs, lastMs, tries] = [Number.POSITIVE_INFINITY, 0, 0];
    for (const { index, atMs } of this.list) {
      firstMs = Math.min(firstMs, atMs);
      lastMs = Math.max(lastMs, atMs);
      tries = Math.max(tries, this.triesOf(index));
    }
    return { firstMs, lastMs, tries };
  }

  private triesOf(index: number): number {
    return this.tries.get(index) ?? this.triesBefore;
  }
}

/** 2 s, twice as long after each try, five minutes at most. */
export function pauseAfter(tries: number): number {
  return Math.min(FIRST_MS * 2 ** tries, LONGEST_MS);
}
