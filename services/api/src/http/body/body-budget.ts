import { ApiError } from '@gateway/runtime/errors';

/** What one request holds of the budget. It ends when the last of its users has left. */
export interface BodyAccount {
  /** Counts bytes that have come. Throws 503 when this process, or the share of the request's token, has no room for them. */
  take(bytes: number): void;
  /** Called when the account ends: frees what was counted. */
  onEnd(free: () => void): void;
  /** One user more. Returns what ends that; safe to repeat. */
  join(): () => void;
}

/** A request that holds less is never refused: texts and codes pass whatever files are on their way. */
export const SMALL_BODY_BYTES = 64 * 1024;
/** Of the whole, for the requests of one token together. */
const TOKEN_SHARE = 1 / 4;

/**
 * Memory that this process may use for request bodies, and for files fetched for them, counted as they arrive: what a
 * caller only announces takes nothing. Without a bound a few hundred large bodies would take all the memory; without a
 * share for each token one of them could block the files of all others.
 */
export class BodyBudget {
  readonly capacityBytes: number;
  #heldBytes = 0;
  readonly #heldByToken = new Map<string, number>();

  constructor(capacityBytes: number) {
    this.capacityBytes = capacityBytes;
  }

  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** @param tokenId the key id of the token that asks. */
  account(tokenId: string): BodyAccount {
    let held = 0;
    let users = 0;
    const frees: (() => void)[] = [];
    const end = () => {
      for (const free of frees.splice(0)) free();
      this.#add(tokenId, -held);
      held = 0;
    };
    return {
      take: (bytes) => {
        if (held + bytes > SMALL_BODY_BYTES && !this.#hasRoom(tokenId, bytes)) {
          throw new ApiError('unavailable', { headers: { 'Retry-After': '1' } });
        }
        held += bytes;
        this.#add(tokenId, bytes);
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
    const ofToken = (this.#heldByToken.get(tokenId) ?? 0) + bytes;
    return ofToken <= this.capacityBytes * TOKEN_SHARE && this.#heldBytes + bytes <= this.capacityBytes;
  }

  #add(tokenId: string, bytes: number): void {
    this.#heldBytes += bytes;
    const ofToken = (this.#heldByToken.get(tokenId) ?? 0) + bytes;
    if (ofToken > 0) this.#heldByToken.set(tokenId, ofToken);
    else this.#heldByToken.delete(tokenId);
  }
}
