import type { Socket } from 'node:net';

interface FromAddress {
  socket: Socket;
  /** Of IPv6 the network. */
  address: string;
  /** What had come on it when it began to be idle. What came since is of a head. */
  readBytes: number;
  /** What still comes is dropped. */
  isClosing: boolean;
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
    connection.readBytes = connection.socket.bytesRead;
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
    this.#closeFirst(most);
  }

  /** Of this address, the one that has been idle longest. `false` where none is. */
  closeOneOf(address: string): boolean {
    return this.#closeFirst(this.#byAddress.get(address));
  }

  /**
   * What came of heads that have not ended is held by Node's parsers, which do not report it. Beyond `capacityBytes` the address
   * with the most of it loses its connections, the one that has been idle longest first, until half of that is left.
   */
  closeHeadsBeyond(capacityBytes: number): void {
    let [held, most]: [number, [bytes: number, theirs: Set<FromAddress>]] = [0, [0, new Set()]];
    for (const theirs of this.#byAddress.values()) {
      const bytes = [...theirs].reduce((sum, connection) => sum + headBytes(connection), 0);
      held += bytes;
      if (bytes > most[0]) most = [bytes, theirs];
    }
    if (held <= capacityBytes) return;
    for (const connection of most[1]) {
      if (held <= capacityBytes / 2) return;
      held -= headBytes(connection);
      this.#close(connection);
    }
  }

  #closeFirst([oldest]: Iterable<FromAddress> = []): boolean {
    if (oldest) this.#close(oldest);
    return oldest !== undefined;
  }

  #close(connection: FromAddress): void {
    this.delete(connection);
    connection.socket.destroy();
  }
}

function headBytes({ socket, readBytes, isClosing }: FromAddress): number {
  return isClosing ? 0 : socket.bytesRead - readBytes;
}
