/** Of each turn of the event loop, for all that is read from strangers. */
const TURN_MS = 10;

/**
 * Reads from hostile servers a slice at a time, one of each connection in its turn, until the time for this turn of the
 * event loop is used up. What a parser makes of 64 kB may take 50 ms, and one look at the sockets brings as much from
 * each of dozens: in one go they would hold up everything else for seconds.
 */
export class ReadTurns {
  readonly #waiting = new Set<() => void>();
  #isReading = false;

  /** Has `read` called soon, once, with time for what it brings. */
  add(read: () => void): void {
    this.#waiting.add(read);
    if (this.#isReading) return;
    this.#isReading = true;
    this.#begin();
  }

  remove(read: () => void): void {
    this.#waiting.delete(read);
  }

  /** After the sockets were looked at: once in each turn of the loop, however many of them have something. */
  #begin(): void {
    setImmediate(() => this.#readUntil(performance.now() + TURN_MS));
  }

  #readUntil(endMs: number): void {
    const [read] = this.#waiting;
    this.#isReading = read !== undefined;
    if (!read) return;
    if (performance.now() > endMs) this.#begin();
    else {
      this.#waiting.delete(read);
      read();
      // What was read is parsed in the next tick, and what comes of that is told in the microtasks after it.
      process.nextTick(() => queueMicrotask(() => this.#readUntil(endMs)));
    }
  }
}
