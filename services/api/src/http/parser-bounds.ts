import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { PieceCount } from '@gateway/runtime/bytes/piece-count';
import { UnreadBodies } from './body/unread-bodies.js';

/** Node's parser: made for one connection after the other, so that all that is changed here is changed back. */
interface Parser {
  socket: Socket | null;
  incoming: IncomingMessage | null;
  /** Names and values of the head that is being read. */
  _headers: string[];
  /** What it calls with thirty lines of a long head. Without it further lines are passed over, and nothing is made of them. */
  1?: ((lines: string[], url: string) => void) | undefined;
  /** What it calls with each piece of a body. Without it they are passed over. */
  3?: ((piece: Buffer) => void) | undefined;
}

const ON_HEADERS = 1;
const ON_BODY = 3;
/** Of a head. Browsers behind several proxies send fifty. */
export const MAX_HEADER_LINES = 128;
/** A piece that is as long is no part of a flood, whatever else comes, nor are the first of a body. */
const TINY_BYTES = 64;
const FIRST_PIECES = 16;
/** Of all bodies in half a second: some more than one may have, a tenth of the processor time. */
const FREE_PIECES = 30_000;
const WINDOW_MS = 500;

/**
 * Bounds what Node makes of the bytes that come. Of each connection it reads 64 kB at once, and more: thousands of header
 * lines, or of pieces of a body, each of which costs a microsecond or two and some hundred bytes before any step of ours has
 * seen the request. It cannot stop in the middle; but it can pass over what is of no use, at a fiftieth of that.
 */
export class ParserBounds {
  readonly #refuse: (req: IncomingMessage) => void;
  readonly #unread = new UnreadBodies();
  /** Of this window, and all connections. */
  #pieces: PieceCount | undefined;

  /** @param refuse is told of a request of whose body nothing more will come: there was no room for a piece, or too many were tiny. */
  constructor(refuse: (req: IncomingMessage) => void) {
    this.#refuse = refuse;
  }

  watch(socket: Socket, address: string): void {
    const { parser } = socket as Socket & { parser?: Parser };
    if (!parser) return;
    const { [ON_HEADERS]: onHeaders, [ON_BODY]: onBody } = parser;
    parser[ON_HEADERS] = (lines, url) => {
      onHeaders!.call(parser, lines, url);
      if (parser._headers.length > 2 * MAX_HEADER_LINES) parser[ON_HEADERS] = undefined;
    };
    let reading: IncomingMessage | null = null;
    let pieces = 0;
    parser[ON_BODY] = (piece) => {
      if (reading !== parser.incoming) {
        reading = parser.incoming;
        pieces = 0;
      }
      pieces++;
      const isTaken = !this.#isFlood(piece.length) || pieces <= FIRST_PIECES;
      const hasRoom = isTaken && (!reading || this.#unread.take(reading, address, piece.length));
      if (hasRoom) return onBody!.call(parser, piece);
      parser[ON_BODY] = undefined;
      if (parser.incoming) this.#refuse(parser.incoming);
    };
    socket.once('close', () => {
      // After CONNECT the next connection may have it already.
      if (parser.socket && parser.socket !== socket) return;
      parser[ON_HEADERS] = onHeaders;
      parser[ON_BODY] = onBody;
    });
  }

  #isFlood(bytes: number): boolean {
    if (!this.#pieces) {
      this.#pieces = new PieceCount(FREE_PIECES);
      setTimeout(() => {
        this.#pieces = undefined;
      }, WINDOW_MS).unref();
    }
    return this.#pieces.add(bytes) && bytes < TINY_BYTES;
  }
}
