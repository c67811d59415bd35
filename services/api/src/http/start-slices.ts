/** Of a turn of the event loop; what was begun before goes on in the rest of it. */
const SLICE_MS = 4;
/** Of turns that accept a connection so many begin nothing, and the next of them one request. */
const TURNS_FOR_ACCEPTING = 4;
/** Where turns are long for other reasons, accepting gets no more of them than this. */
const MAX_PAUSE_MS = 10;

/**
 * Begins what comes at once a slice at a time. One look at the sockets may find a request on each of thousands of
 * connections; begun all together they would hold up everything else until the last of them. Callers take turns: one who
 * comes with thousands keeps no other waiting for longer than one of them takes.
 *
 * A turn also accepts one connection, and no more. While any wait for that, turns are kept short: else those who came
 * first would have all their answers before the last are even heard.
 */
export class StartSlices {
  /** What waits, by caller. The caller whose turn is next comes first; none is without anything. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #usedMs = 0;
  /** Of this turn. */
  #sliceMs = SLICE_MS;
  #turnsSinceAccepted = Number.POSITIVE_INFINITY;
  #turnsForAccepting = 0;
  #isCounting = false;
  #begunAtMs = 0;

  /** A connection was accepted: there may be more. */
  accepted(): void {
    this.#turnsSinceAccepted = 0;
  }

  /** Begins it now, or in a later turn: after what waits of the same caller, and in turn with others. */
  run(caller: string, start: () => void): void {
    this.#countThisTurn();
    const theirs = this.#waiting.get(caller);
    if (theirs) theirs.push(start);
    else if (this.#waiting.size > 0 || this.#usedMs >= this.#sliceMs) this.#waiting.set(caller, [start]);
    else this.#begin(start);
  }

  #countThisTurn(): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    this.#usedMs = 0;
    // Of the turn in which what waits is gone on with, the sockets were looked at already: it may have accepted none.
    this.#sliceMs = this.#turnsSinceAccepted++ < 2 ? this.#whileAccepting() : SLICE_MS;
    setImmediate(() => {
      this.#isCounting = false;
      if (this.#waiting.size > 0) this.#goOn();
    });
  }

  #whileAccepting(): number {
    if (performance.now() - this.#begunAtMs > MAX_PAUSE_MS) return SLICE_MS;
    this.#turnsForAccepting = (this.#turnsForAccepting + 1) % (TURNS_FOR_ACCEPTING + 1);
    return this.#turnsForAccepting === 0 ? Number.MIN_VALUE : 0;
  }

  #goOn(): void {
    this.#countThisTurn();
    for (const [caller, theirs] of this.#waiting) {
      if (this.#usedMs >= this.#sliceMs) return;
      this.#waiting.delete(caller);
      const start = theirs.shift()!;
      // Behind the others: this loop comes to it again.
      if (theirs.length > 0) this.#waiting.set(caller, theirs);
      this.#begin(start);
    }
  }

  #begin(start: () => void): void {
    const startedAtMs = performance.now();
    start();
    this.#begunAtMs = performance.now();
    this.#usedMs += this.#begunAtMs - startedAtMs;
  }
}
