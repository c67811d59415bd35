/**
 * Bytes of request bodies that this process may hold at one time. Without a bound, a few hundred callers with large
 * bodies would take all its memory.
 */
export class BodyBudget {
  readonly #capacityBytes: number;
  #heldBytes = 0;

  constructor(capacityBytes: number) {
    this.#capacityBytes = capacityBytes;
  }

  /** Returns what gives the bytes back (safe to repeat), or `undefined` when there is no room. */
  take(bytes: number): (() => void) | undefined {
    if (this.#heldBytes + bytes > this.#capacityBytes) return undefined;
    this.#heldBytes += bytes;
    let given = false;
    return () => {
      if (!given) this.#heldBytes -= bytes;
      given = true;
    };
  }
}
