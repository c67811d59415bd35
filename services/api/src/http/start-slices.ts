/**
 * Of each turn of the event loop; what was begun before goes on in the rest of it. Short, as a turn also accepts one
 * connection and no more.
 */
const SLICE_MS = 2;

/**
 * Begins what comes at once a slice at a time. One look at the sockets may find a request on each of thousands of
 * connections; begun all together they would hold up everything else until the last of them.
 */
export class StartSlices {
  readonly #waiting: (() => void)[] = [];
  #usedMs = 0;
  #isCounting = false;

  /** Begins it now, or in a later turn after those that wait already. */
  run(start: () => void): void {
    this.#countThisTurn();
    if (this.#waiting.length > 0 || this.#usedMs >= SLICE_MS) this.#waiting.push(start);
    else this.#begin(start);
  }

  #countThisTurn(): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    this.#usedMs = 0;
    setImmediate(() => {
      this.#isCounting = false;
      if (this.#waiting.length > 0) this.#goOn();
    });
  }

  #goOn(): void {
    this.#countThisTurn();
    let begun = 0;
    while (begun < this.#waiting.length && this.#usedMs < SLICE_MS) this.#begin(this.#waiting[begun++]!);
    this.#waiting.splice(0, begun);
  }

  #begin(start: () => void): void {
    const startedAtMs = performance.now();
    start();
    this.#usedMs += performance.now() - startedAtMs;
  }
}
