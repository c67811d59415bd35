import type { IncomingMessage } from 'node:http';

/** Of heads that wait for their answers, together; of those that have not come to their end as much. */
export const CAPACITY_BYTES = 8 * 1024 * 1024;
/** A head that takes less is never refused: those of real callers do. */
const SMALL_BYTES = 4 * 1024;
/** Of a name or a value, beside its letters, and of its place in a list. */
const STRING_BYTES = 32;

/**
 * Bytes that the heads of waiting requests may hold: there may be as many as connections, each with sixteen kilobytes, and
 * what Node makes of them is three times as large.
 */
export class HeadBudget {
  #heldBytes = 0;

  /** Counts a head. Returns what gives its bytes back (to be called once), or `undefined` when there is no room. */
  take(req: IncomingMessage): (() => void) | undefined {
    const bytes = sizeOf(req);
    if (bytes > SMALL_BYTES && this.#heldBytes + bytes > CAPACITY_BYTES) return undefined;
    this.#heldBytes += bytes;
    return () => {
      this.#heldBytes -= bytes;
    };
  }
}

function sizeOf({ url = '', rawHeaders }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, text) => bytes + text.length + STRING_BYTES, url.length);
}

/** Nothing of a head is read any more. */
export function dropHead(req: IncomingMessage): void {
  req.rawHeaders = [];
  req.headers = {};
  req.url = '/';
}
