import { defer } from '@gateway/runtime/deferred';
import { toError } from '@gateway/runtime/errors';

const SAY_EVERY_MS = 10_000;
/** Longer than the longest pause before a message is tried again. */
const NO_NEWS_MS = 330_000;

/** Says how far a run is, and ends one that gets no further, or of which a part has failed beside its main course. */
export class Progress {
  /** Rejects when the run is to end. */
  readonly failed: Promise<never>;
  readonly fail: (thrown: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  #stage = 'begins';
  #tell: () => string = () => '';
  #said = '';
  #sinceMs = performance.now();

  /** @param deps.noNewsMs how long a run may stand still. */
  constructor(private readonly deps: { say(line: string): void; everyMs?: number; noNewsMs?: number }) {
    const { promise, reject } = defer<never>();
    this.failed = promise;
    this.fail = (thrown) => reject(toError(thrown));
    promise.catch(() => {});
    this.#timer = setInterval(() => this.#look(), deps.everyMs ?? SAY_EVERY_MS);
  }

  /** @param tell what has been done of this stage. The same for too long: nothing goes on. */
  enter(stage: string, tell: () => string): void {
    this.#stage = stage;
    this.#tell = tell;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const { say, noNewsMs = NO_NEWS_MS } = this.deps;
    const now = `${this.#stage}: ${this.#tell()}`;
    if (now !== this.#said) this.#sinceMs = performance.now();
    this.#said = now;
    const stillMs = Math.round(performance.now() - this.#sinceMs);
    say(stillMs > 0 ? `${now}, for ${Math.round(stillMs / 1_000)} s` : now);
    if (stillMs > noNewsMs) this.fail(new Error(`nothing went on for ${stillMs} ms; ${now}`));
  }
}
