import { ApiError } from '@gateway/runtime/errors';

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

  /** Returns what gives the bytes back (safe to repeat). Throws 503 when there is no room. */
  takeOrRefuse(bytes: number): () => void {
    if (this.#heldBytes + bytes > this.#capacityBytes) {
      throw new ApiError('unavailable', { headers: { 'Retry-After': '1' } });
    }
    this.#heldBytes += bytes;
    let given = false;
    return () => {
      if (!given) this.#heldBytes -= bytes;
      given = true;
    };
  }
}
