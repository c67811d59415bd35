/** Of a turn of the event loop; what was begun before goes on in the rest of it. */
const SLICE_MS = 4;
/** Time for one, however short that is. */
const ONE = Number.MIN_VALUE;
/** While connections are accepted, a pause follows what is begun: so many times as long, ... */
const PAUSE_SHARE = 4;
/** ... and no longer than this: a list is checked in as much, and turns may be long for other reasons. */
const MAX_PAUSE_MS = 10;

/** Connections that were accepted in this turn of the event loop of this process, or in the two before. */
let acceptedLately = 0;

/** To be called for each connection that is accepted: there may be more, and whatever takes slices makes room for them. */
export function noteAccepted(): void {
  acceptedLately++;
  // Of the turn in which what waits is gone on with, the sockets were looked at already: it may have accepted none.
  setImmediate(() => setImmediate(() => setImmediate(() => acceptedLately--)));
}

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
  #isCounting = false;
  /** If connections are accepted. */
  #pausesUntilMs = 0;

  /** Begins it now, or in a later turn: after what waits of the same caller, and in turn with others. */
  run(caller: string, start: () => void): void {
    this.#countThisTurn();
    const theirs = this.#waiting.get(caller);
    if (theirs) theirs.push(start);
    else if (this.#waiting.size > 0 || this.#usedMs >= this.#sliceMs) this.#waiting.set(caller, [start]);
    else this.#begin(start);
  }

  /** The same for a step with a result, or an error. */
  take<T>(caller: string, step: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) =>
      this.run(caller, () => {
        try {
          resolve(step());
        } catch (thrown) {
          reject(thrown);
        }
      }),
    );
  }

  #countThisTurn(): void {
    if (this.#isCounting) return;
    this.#isCounting = true;
    this.#usedMs = 0;
    const isPaused = acceptedLately > 0 && performance.now() < this.#pausesUntilMs;
    this.#sliceMs = isPaused ? 0 : acceptedLately > 0 ? ONE : SLICE_MS;
    setImmediate(() => {
      this.#isCounting = false;
      if (this.#waiting.size > 0) this.#goOn();
    });
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
    const endedAtMs = performance.now();
    const tookMs = endedAtMs - startedAtMs;
    this.#usedMs += tookMs;
    this.#pausesUntilMs = endedAtMs + Math.min(PAUSE_SHARE * tookMs, MAX_PAUSE_MS);
  }
}
