import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** As many requests may wait on a connection for the answers to those before them. The last of these is told so. */
const MAX_PIPELINED = 64;
/**
 * A caller who takes nothing of what is written is looked at so often, not for so long: while this process is held up
 * itself nobody can take anything.
 */
const UNREAD_CHECKS = 10;

interface Connection {
  socket: Socket;
  /** The latest of its requests, and how many are not answered. */
  latest?: ServerResponse;
  waiting: number;
  /** What it asks from now on is not heard. */
  isClosing: boolean;
  /** What it had taken when it last took something, and how often it was looked at since. */
  takenBytes: number;
  unreadChecks: number;
}

/**
 * The connections of a server. One that asks much and reads nothing is closed, so that its answers fill no memory; one
 * that is refused while it is sending gets its answer: if both directions were closed at once, the system would answer
 * what still comes with a reset, which takes the answer away from its reader.
 */
export class Connections {
  readonly #open = new Map<Duplex, Connection>();
  readonly #unreadMs: number;

  /**
   * @param unreadMs how long a caller may leave what is written to it where it is; for half of that it may go on sending
   * what was refused.
   */
  constructor(server: Server, unreadMs: number) {
    this.#unreadMs = unreadMs;
    server.on('connection', (socket: Socket) => this.#add(socket));
    const timer = setInterval(() => this.#closeUnread(), unreadMs / UNREAD_CHECKS).unref();
    server.once('close', () => clearInterval(timer));
  }

  /** Whether a request is to be answered: not any more, when it came after the last one of its connection. */
  begin({ socket, headers }: IncomingMessage, res: ServerResponse): boolean {
    const connection = this.#open.get(socket);
    if (!connection || connection.isClosing) return false;
    connection.latest = res;
    connection.waiting++;
    res.once('close', () => connection.waiting--);
    // Proxies disagree about what ends such a body: what follows it could be somebody else's request.
    const isAmbiguous = (headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked';
    if (connection.waiting < MAX_PIPELINED && !isAmbiguous) return true;
    res.shouldKeepAlive = false;
    connection.isClosing = true;
    return true;
  }

  /** What is being answered on a connection: the latest of its requests. */
  latestOn(socket: Duplex): ServerResponse | undefined {
    return this.#open.get(socket)?.latest;
  }

  /** Those that wait for nothing: idle, or with a request that never came to its end. */
  closeUnanswered(): void {
    for (const [socket, { latest }] of this.#open) if (latest?.writableFinished ?? true) socket.destroy();
  }

  #add(socket: Socket): void {
    const connection: Connection = { socket, waiting: 0, isClosing: false, takenBytes: 0, unreadChecks: 0 };
    this.#open.set(socket, connection);
    socket.once('close', () => this.#open.delete(socket));
    const destroySoon = socket.destroySoon.bind(socket);
    // Called by Node after the last answer of a connection.
    socket.destroySoon = () => {
      const isSending = connection.latest?.req.complete === false;
      if (!isSending && !connection.isClosing) return destroySoon();
      connection.isClosing = true;
      socket.end();
      // What is left of a body is let through to nowhere; further requests are not even read.
      if (isSending) socket.resume();
      else socket.pause();
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
