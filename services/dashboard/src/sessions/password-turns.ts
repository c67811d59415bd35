import PQueue from 'p-queue';
import { ConsoleError } from '../http/console-error.js';

/** Each takes 25 ms of a core and 19 MiB. The pool has four threads, which also read files and look up names. */
const AT_ONCE = 2;
/** Half a second: those at its end still get their answer before they give up. */
const MAX_WAITING = 20;

/** One per process: hashes of passwords wait for their turn. */
export class PasswordTurns {
  readonly #queue = new PQueue({ concurrency: AT_ONCE });

  /** Not done when its caller is gone by then, nor when too many wait: throws `unavailable`. */
  take<Result>(signal: AbortSignal, hash: () => Promise<Result>): Promise<Result> {
    if (this.#queue.size >= MAX_WAITING) throw new ConsoleError('unavailable', { resetInSeconds: 1 });
    return this.#queue.add(() => {
      if (signal.aborted) throw new ConsoleError('unavailable');
      return hash();
    });
  }
}
