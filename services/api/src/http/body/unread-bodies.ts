import type { IncomingMessage } from 'node:http';
import { Shares } from '@gateway/runtime/bytes/shares';

/** Of all requests together that nothing reads yet: of four thousand connections each may bring 64 kB in one turn of the event loop. */
const CAPACITY_BYTES = 16 * 1024 * 1024;
/** Of what the others leave, for one address. */
const ADDRESS_SHARE = 3 / 4;
/** Of a request. Bodies that are shorter are never refused. */
const FREE_BYTES = 4 * 1024;

interface Hold {
  bytes: number;
  /** Gives back what is held, and holds no more. */
  end(): void;
}
const holds = new WeakMap<IncomingMessage, Hold>();
const READ: Hold = { bytes: 0, end() {} };

/** From now on what comes of its body is counted by what reads it, or is let go. Safe to repeat. */
export function leaveToReader(req: IncomingMessage): void {
  holds.get(req)?.end();
  holds.set(req, READ);
}

/**
 * What has come of bodies while their requests wait: for their turn, and for the checks that come before a body is read. Node
 * holds it, and would hold any number of them.
 */
export class UnreadBodies {
  readonly #held = new Shares();

  /** Counts a piece that was read from the network; `false` when there is no room for it. */
  take(req: IncomingMessage, address: string, bytes: number): boolean {
    const hold = holds.get(req) ?? this.#begin(req, address);
    if (hold === READ) return true;
    const hasRoom = this.#held.all + bytes <= CAPACITY_BYTES && this.#isInShare(address, bytes);
    if (!hasRoom && hold.bytes + bytes > FREE_BYTES) return false;
    hold.bytes += bytes;
    this.#held.add(address, bytes);
    return true;
  }

  #isInShare(address: string, bytes: number): boolean {
    const theirs = this.#held.of(address);
    return theirs + bytes <= (CAPACITY_BYTES - this.#held.all + theirs) * ADDRESS_SHARE;
  }

  #begin(req: IncomingMessage, address: string): Hold {
    const hold: Hold = {
      bytes: 0,
      end: () => {
        this.#held.add(address, -hold.bytes);
        hold.bytes = 0;
      },
    };
    holds.set(req, hold);
    req.once('close', () => leaveToReader(req));
    return hold;
  }
}
