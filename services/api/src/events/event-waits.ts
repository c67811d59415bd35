/** Calls of a token that wait for events, and its streams: the sixth at a time is answered at once. */
export class EventWaits {
  readonly #waiting = new Map<string, number>();

  constructor(private readonly perToken: number) {}

  /** Calls and streams of all tokens. */
  get open(): number {
    return [...this.#waiting.values()].reduce((sum, waiting) => sum + waiting, 0);
  }

  /** A function that gives the place back; `undefined` when there is none. */
  take(keyId: string): (() => void) | undefined {
    const waiting = this.#waiting.get(keyId) ?? 0;
    if (waiting >= this.perToken) return undefined;
    this.#waiting.set(keyId, waiting + 1);
    return () => {
      const left = (this.#waiting.get(keyId) ?? 1) - 1;
      if (left > 0) this.#waiting.set(keyId, left);
      else this.#waiting.delete(keyId);
    };
  }
}
