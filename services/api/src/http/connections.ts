import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ApiError } from '@gateway/runtime/errors';
import { ipKeyGenerator } from 'express-rate-limit';
import { breakBody } from './body/broken-bodies.js';
import { leaveToReader } from './body/unread-bodies.js';
import { CAPACITY_BYTES, dropHead, HeadBudget } from './head-budget.js';
import { IdleConnections } from './idle-connections.js';
import { MAX_HEADER_LINES, ParserBounds } from './parser-bounds.js';

/** As many requests may wait on a connection for the answers to those before them. The last of these is told so. */
const MAX_PIPELINED = 64;
/**
 * So many on all connections together, counted for a second beyond their answers: connections that come one after the
 * other would each have theirs answered. Beyond, the first that would have to wait ends its connection.
 */
const MAX_PIPELINED_IN_ALL = 128;
const COUNTED_FOR_MS = 1_000;
/**
 * A caller who does not read is cut off after this many checks, not after a time: while this process itself is blocked,
 * no caller can read.
 */
const UNREAD_CHECKS = 10;
/** In which few heads can grow by much: of each turn of the event loop one more connection is accepted. */
const HEADS_CHECK_MS = 100;
/** Tells Node's parser that no body comes, and that what follows is not HTTP. */
const STOP = 2;
/** Kept free for those who come next, of all places: at least one. */
const FREE_SHARE = 0.1;

interface Connection {
  socket: Socket;
  address: string;
  /** Of the latest of its requests, and of all that are not answered. */
  latest?: ServerResponse;
  waiting: Set<ServerResponse>;
  readBytes: number;
  /** What it asks from now on is not answered. */
  isClosing: boolean;
  /** Nor does it matter whether that is HTTP: what came already was the last. */
  isDeaf: boolean;
  /** What it had taken when it last took something, and how often it was looked at since. */
  takenBytes: number;
  unreadChecks: number;
}

interface ConnectionBounds {
  unreadMs: number;
  maxConnections: number;
  maxPerAddress: number;
  onDrop: () => void;
}

/**
 * The connections of a server. One that asks much and reads nothing is closed, so that its answers fill no memory; one
 * that is refused while it is sending gets its answer: if both directions were closed at once, the system would answer
 * what still comes with a reset, which takes the answer away from its reader.
 *
 * The last tenth of the places is for those who come next: each who takes one of these has an idle connection closed,
 * and while all of the others wait for answers, an answer ends its connection.
 */
export class Connections {
  readonly #open = new Map<Duplex, Connection>();
  readonly #idle = new IdleConnections();
  readonly #heads = new HeadBudget();
  readonly #parsers = new ParserBounds((req) => this.#refuseBody(req));
  readonly #unreadMs: number;
  readonly #places: number;
  readonly #ofAddress = new Map<string, number>();
  readonly #maxPerAddress: number;
  readonly #onDrop: () => void;
  /** Requests that came while another of their connection waited for its answer, and wait now or did lately. */
  #behind = 0;

  /**
   * @param unreadMs how long a caller may leave what is written to it where it is; for half of that it may go on sending
   * what was refused.
   * @param maxConnections what the server takes, and `maxPerAddress` of them from one address.
   * @param onDrop called for each that is closed because its address has all of its places, none of them idle.
   */
  constructor(server: Server, { unreadMs, maxConnections, maxPerAddress, onDrop }: ConnectionBounds) {
    this.#unreadMs = unreadMs;
    this.#maxPerAddress = maxPerAddress;
    this.#onDrop = onDrop;
    this.#places = maxConnections - Math.ceil(maxConnections * FREE_SHARE);
    // Anyone who took the last places may have asked for nothing yet.
    server.on('drop', () => this.#idle.closeOne());
    const timer = setInterval(() => this.#closeUnread(), unreadMs / UNREAD_CHECKS).unref();
    const heads = setInterval(() => this.#idle.closeHeadsBeyond(CAPACITY_BYTES), HEADS_CHECK_MS).unref();
    server.once('close', () => {
      clearInterval(timer);
      clearInterval(heads);
    });
  }

  /** Makes room for a connection that was just accepted. `false` when it is closed. */
  admit(socket: Socket): boolean {
    const address = addressOf(socket);
    const theirs = this.#ofAddress.get(address) ?? 0;
    if (theirs >= this.#maxPerAddress && !this.#idle.closeOneOf(address)) {
      this.#onDrop();
      socket.destroy();
      return false;
    }
    // One that was closed to make room is counted until it is gone.
    this.#ofAddress.set(address, theirs + 1);
    socket.once('close', () => this.#leave(address));
    this.#add(socket, address);
    return true;
  }

  /** Of a connection that was admitted: Node has given it a parser. */
  watch(socket: Socket): void {
    this.#parsers.watch(socket, addressOf(socket));
  }

  #leave(address: string): void {
    const left = this.#ofAddress.get(address)! - 1;
    if (left > 0) this.#ofAddress.set(address, left);
    else this.#ofAddress.delete(address);
  }

  /**
   * Whether a request is to be answered: not any more, when it came after the last one of its connection. An error is the
   * answer to one with a head that takes too much, which is the last.
   */
  begin(req: IncomingMessage, res: ServerResponse): boolean | ApiError {
    const { socket, headers } = req;
    const connection = this.#open.get(socket);
    if (!connection || connection.isClosing) return false;
    const { latest, waiting } = connection;
    const isBehind = waiting.size > 0;
    const isFlood = isBehind && this.#behind >= MAX_PIPELINED_IN_ALL;
    // Best is to answer as little as can be, while the one before can still be told that it is the last.
    if (isFlood && latest?.headersSent === false) {
      endAfter(connection, latest);
      connection.isDeaf = true;
      return false;
    }
    this.#await(connection, res, isBehind);
    const refusal = this.#takeHead(req, res);
    if (refusal) {
      dropHead(req);
      endAfter(connection, res);
      return refusal;
    }
    // Proxies disagree about what ends such a body: what follows it could be someone else's request.
    const isAmbiguous = (headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked';
    const isCrowded = this.#open.size > this.#places;
    if (waiting.size >= MAX_PIPELINED || isFlood || isAmbiguous || isCrowded) endAfter(connection, res);
    return true;
  }

  /** What is being answered on a connection: the latest of its requests. */
  latestOn(socket: Duplex): ServerResponse | undefined {
    return this.#open.get(socket)?.latest;
  }

  /** Whether what comes on a connection no longer matters, errors included. */
  isDeaf(socket: Duplex): boolean {
    return this.#open.get(socket)?.isDeaf ?? false;
  }

  /** Those that wait for nothing: idle, or with a request that never came to its end. */
  closeUnanswered(): void {
    for (const [socket, { latest }] of this.#open) if (latest?.writableFinished ?? true) socket.destroy();
  }

  #takeHead(req: IncomingMessage, res: ServerResponse): ApiError | undefined {
    if (req.rawHeaders.length > 2 * MAX_HEADER_LINES) return new ApiError('headers_too_large');
    const giveBack = this.#heads.take(req);
    if (!giveBack) return busy();
    // We read the others, which are made of these.
    req.rawHeaders = [];
    res.once('close', giveBack);
  }

  #refuseBody(req: IncomingMessage): void {
    const connection = this.#open.get(req.socket);
    if (connection?.latest?.req !== req) return;
    endAfter(connection, connection.latest);
    connection.socket.pause();
    breakBody(req, busy());
  }

  #await(connection: Connection, res: ServerResponse, isBehind: boolean): void {
    const { socket, waiting } = connection;
    connection.latest = res;
    waiting.add(res);
    if (isBehind) this.#behind++;
    this.#idle.delete(connection);
    res.once('close', () => {
      leaveToReader(res.req);
      waiting.delete(res);
      if (isBehind) setTimeout(() => this.#behind--, COUNTED_FOR_MS).unref();
      if (waiting.size === 0 && this.#open.has(socket)) this.#idle.add(connection);
    });
  }

  #add(socket: Socket, address: string): void {
    const connection: Connection = {
      socket,
      address,
      waiting: new Set(),
      readBytes: 0,
      isClosing: false,
      isDeaf: false,
      takenBytes: 0,
      unreadChecks: 0,
    };
    if (this.#open.size >= this.#places) this.#idle.closeOne();
    this.#open.set(socket, connection);
    this.#idle.add(connection);
    socket.once('close', () => {
      this.#open.delete(socket);
      this.#idle.delete(connection);
      // Those that wait for the socket are forgotten by Node, with all that is held until they close.
      for (const res of connection.waiting) if (!res.socket) res.emit('close');
    });
    const destroySoon = socket.destroySoon.bind(socket);
    // Called by Node after the last answer of a connection.
    socket.destroySoon = () => {
      const isSending = connection.latest?.req.complete === false;
      if (!isSending && !connection.isClosing) return destroySoon();
      connection.isClosing = true;
      socket.end();
      // What is left of a body is let through to nowhere, and that the caller closes is seen.
      if (!connection.isDeaf) socket.resume();
      const timer = setTimeout(() => socket.destroy(), this.#unreadMs / 2).unref();
      socket.once('close', () => clearTimeout(timer));
    };
  }

  #closeUnread(): void {
    for (const connection of this.#open.values()) {
      const { socket } = connection;
      const takenBytes = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || takenBytes !== connection.takenBytes) {
        connection.takenBytes = takenBytes;
        connection.unreadChecks = 0;
      } else if (++connection.unreadChecks === UNREAD_CHECKS) socket.destroy();
    }
  }
}

/** Where a connection comes from. Of IPv6 the network: a caller has more addresses of it than anybody can count. */
export function addressOf({ remoteAddress = '' }: Socket): string {
  return ipKeyGenerator(remoteAddress);
}

function busy(): ApiError {
  return new ApiError('unavailable', { headers: { 'Retry-After': '1' } });
}

function endAfter(connection: Connection, res: ServerResponse): void {
  res.shouldKeepAlive = false;
  connection.isClosing = true;
  stopAtNextHead(connection);
}

/**
 * Of 64 kB that it reads at once Node makes thousands of requests, even on a socket that was paused or destroyed by the
 * first of them. Only the parser can stop in the middle, and only for a change of protocol: so that is what it is told.
 */
function stopAtNextHead(connection: Connection): void {
  const { socket } = connection;
  const { parser } = socket as Socket & { parser?: { onIncoming: () => number } };
  if (!parser) return;
  parser.onIncoming = () => {
    connection.isDeaf = true;
    // Not before the parser is done: it sets a socket going again at each end of a request.
    process.nextTick(() => socket.pause());
    return STOP;
  };
}
