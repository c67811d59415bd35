import { Shares } from '@gateway/runtime/bytes/shares';
import { ApiError } from '@gateway/runtime/errors';

/** What one request holds of the budget. It ends when the last of its users has left. */
export interface BodyAccount {
  /** Counts bytes that have come. Throws 503, and ends, when this process, or the share of the request's token, has no room for them. */
  take(bytes: number): void;
  /** Called when the account ends: frees what was counted. */
  onEnd(free: () => void): void;
  /** One user more. Returns what ends that; safe to repeat. */
  join(): () => void;
}

/** Requests that hold less have memory of their own: texts and codes pass whatever files are on their way. */
export const SMALL_BODY_BYTES = 64 * 1024;
/** For all of these together: tokens and connections may be thousands. */
const SMALL_CAPACITY_BYTES = 16 * 1024 * 1024;
/** Of that, a token may have so much whatever others hold... */
const FREE_BYTES_PER_TOKEN = 16 * 1024;
/** ... and a request that holds less is never refused. */
const TINY_BODY_BYTES = 4 * 1024;
/** Of the whole, for the requests of one token together. */
const TOKEN_SHARE = 1 / 4;

/**
 * Memory that this process may use for request bodies, and for files fetched for them, counted as they arrive: what a
 * caller only announces takes nothing. Without a bound a few hundred large bodies would take all the memory; without a
 * share for each token one of them could block the files of all others.
 */
export class BodyBudget {
  readonly capacityBytes: number;
  readonly #held = new Shares();
  readonly #small = new Shares();

  constructor(capacityBytes: number) {
    this.capacityBytes = capacityBytes;
  }

  get heldBytes(): number {
    return this.#held.all;
  }

  /** @param tokenId the key id of the token that asks. */
  account(tokenId: string): BodyAccount {
    let held = 0;
    let users = 0;
    const frees: (() => void)[] = [];
    const hold = (bytes: number) => {
      this.#held.add(tokenId, bytes - held);
      this.#small.add(tokenId, smallBytes(bytes) - smallBytes(held));
      held = bytes;
    };
    const end = () => {
      for (const free of frees.splice(0)) free();
      hold(0);
    };
    return {
      take: (bytes) => {
        const hasRoom =
          held + bytes > SMALL_BODY_BYTES
            ? this.#hasRoom(tokenId, bytes)
            : this.#hasSmallRoom(tokenId, held + bytes, bytes);
        if (!hasRoom) {
          // At once: else all that come together are refused, each for want of what the others hold until they have their answers.
          end();
          throw new ApiError('unavailable', { headers: { 'Retry-After': '1' } });
        }
        hold(held + bytes);
      },
      onEnd: (free) => void frees.push(free),
      join: () => {
        users++;
        let isIn = true;
        return () => {
          if (isIn && --users === 0) end();
          isIn = false;
        };
      },
    };
  }

  #hasRoom(tokenId: string, bytes: number): boolean {
    const ofToken = this.#held.of(tokenId) + bytes;
    return ofToken <= this.capacityBytes * TOKEN_SHARE && this.#held.all + bytes <= this.capacityBytes;
  }

  #hasSmallRoom(tokenId: string, ofRequest: number, bytes: number): boolean {
    if (ofRequest <= TINY_BODY_BYTES || this.#small.all + bytes <= SMALL_CAPACITY_BYTES) return true;
    return this.#small.of(tokenId) + bytes <= FREE_BYTES_PER_TOKEN;
  }
}

/** Of what a request holds, what counts as that of a small one. */
function smallBytes(held: number): number {
  return held > SMALL_BODY_BYTES ? 0 : held;
}
