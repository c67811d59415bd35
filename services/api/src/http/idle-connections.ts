import type { Socket } from 'node:net';

interface FromAddress {
  socket: Socket;
  /** Of IPv6 the network. */
  address: string;
}

/**
 * Connections that wait for no answer: kept alive after one, or with a request whose head has not come to its end. They
 * cost their caller nothing, so that one address could have them all; where room is needed, the address with the most of
 * them gives it.
 */
export class IdleConnections {
  /** Those of an address are in the order in which they began to be idle. */
  readonly #byAddress = new Map<string, Set<FromAddress>>();

  add(connection: FromAddress): void {
    const theirs = this.#byAddress.get(connection.address) ?? new Set();
    this.#byAddress.set(connection.address, theirs.add(connection));
  }

  /** Safe to repeat. */
  delete(connection: FromAddress): void {
    const theirs = this.#byAddress.get(connection.address);
    theirs?.delete(connection);
    if (theirs?.size === 0) this.#byAddress.delete(connection.address);
  }

  /** Of the address with the most, the one that has been idle longest. */
  closeOne(): void {
    let most: Set<FromAddress> | undefined;
    for (const theirs of this.#byAddress.values()) if (theirs.size > (most?.size ?? 0)) most = theirs;
    const [oldest] = most ?? [];
    if (!oldest) return;
    this.delete(oldest);
    oldest.socket.destroy();
  }
}
