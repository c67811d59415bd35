import type { LookUpResult } from '../session/session-types.js';

export type LookUpResults = Map<string, LookUpResult>;

/** Numbers in one query. */
export const MAX_NUMBERS = 100;
/** Queries of a device at a time. */
const MAX_QUERIES = 4;
/** So many of them may have room left: a number waits for half a query at most, and is asked about together with others. */
const MAX_UNFILLED = 2;

/** Numbers that several callers want to know something about are asked about together. */
export class GatheredNumbers {
  readonly #waiting = new Map<string, (answer: Promise<LookUpResults>) => void>();
  #queries = 0;
  #isDue = false;

  /** @param ask never rejects. */
  constructor(private readonly ask: (numbers: readonly string[]) => Promise<LookUpResults>) {}

  /** Resolves with what its query answers. A number is given once at a time. */
  add(number: string): Promise<LookUpResults> {
    // After what came in the same turn of the event loop: the next ones of it go out with the first.
    if (!this.#isDue) setImmediate(() => this.#askDue());
    this.#isDue = true;
    return new Promise((resolve) => this.#waiting.set(number, resolve));
  }

  isWaiting(number: string): boolean {
    return this.#waiting.has(number);
  }

  /** Another query asks about it. */
  takeOut(number: string, answer: Promise<LookUpResults>): void {
    this.#waiting.get(number)?.(answer);
    this.#waiting.delete(number);
  }

  #askDue(): void {
    this.#isDue = false;
    while (this.#waiting.size > 0 && this.#queries < (this.#waiting.size < MAX_NUMBERS ? MAX_UNFILLED : MAX_QUERIES)) {
      const numbers = [...this.#waiting.keys()].slice(0, MAX_NUMBERS);
      const answer = this.ask(numbers);
      for (const number of numbers) this.takeOut(number, answer);
      this.#queries += 1;
      void answer.then(() => {
        this.#queries -= 1;
        this.#askDue();
      });
    }
  }
}
