import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { ipKeyGenerator } from 'express-rate-limit';

/** Browsers and proxies wait for each answer before they ask again on a connection. */
const MAX_UNANSWERED = 16;
/** A caller who does not read is cut off after so many checks, not after a time: while this process is blocked none can. */
const UNREAD_CHECKS = 10;

interface Connection {
  unanswered: Set<ServerResponse>;
  /** What its caller had taken at the last check, and how often that was the same since. */
  takenBytes: number;
  unreadChecks: number;
}

/** Where a connection comes from; of IPv6 the network. */
export function addressOf({ remoteAddress = '' }: Socket): string {
  return ipKeyGenerator(remoteAddress);
}

/** Closes connections of an address that has enough, those that ask without waiting, and those that leave answers unread. */
export class ConnectionBounds {
  readonly #open = new Map<Socket, Connection>();
  readonly #ofAddress = new Map<string, number>();

  constructor(server: Server, { maxPerAddress, unreadMs }: { maxPerAddress: number; unreadMs: number }) {
    server.on('connection', (socket: Socket) => this.#admit(socket, maxPerAddress));
    // Those who come next get the places of those who ask for nothing.
    server.on('drop', () => server.closeIdleConnections());
    const timer = setInterval(() => this.#closeUnread(), unreadMs / UNREAD_CHECKS).unref();
    server.once('close', () => clearInterval(timer));
  }

  /** Whether a request is to be answered. */
  begin({ socket }: IncomingMessage, res: ServerResponse): boolean {
    const connection = this.#open.get(socket);
    // Of what it read at once Node makes requests even when the connection is closed by the first.
    if (!connection || socket.destroyed) return false;
    if (connection.unanswered.size >= MAX_UNANSWERED) {
      socket.destroy();
      return false;
    }
    connection.unanswered.add(res);
    res.once('close', () => connection.unanswered.delete(res));
    return true;
  }

  #admit(socket: Socket, maxPerAddress: number): void {
    const address = addressOf(socket);
    const theirs = this.#ofAddress.get(address) ?? 0;
    if (theirs >= maxPerAddress) return void socket.destroy();
    this.#ofAddress.set(address, theirs + 1);
    const connection: Connection = { unanswered: new Set(), takenBytes: 0, unreadChecks: 0 };
    this.#open.set(socket, connection);
    socket.once('close', () => {
      this.#open.delete(socket);
      const left = this.#ofAddress.get(address)! - 1;
      if (left > 0) this.#ofAddress.set(address, left);
      else this.#ofAddress.delete(address);
      // Answers that wait for those before them are forgotten by Node, with all that is held until they close.
      for (const res of connection.unanswered) if (!res.socket) res.emit('close');
    });
  }

  #closeUnread(): void {
    for (const [socket, connection] of this.#open) {
      const takenBytes = socket.bytesWritten - socket.writableLength;
      if (socket.writableLength === 0 || takenBytes !== connection.takenBytes) {
        connection.takenBytes = takenBytes;
        connection.unreadChecks = 0;
      } else if (++connection.unreadChecks === UNREAD_CHECKS) socket.destroy();
    }
  }
}
