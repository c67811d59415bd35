import PQueue from 'p-queue';
import { ConsoleError } from './console-error.js';

/** A view of the page asks for about five things. */
const AT_ONCE = 4;
/** Some views in some tabs. */
const MOST_WAITING = 100;

/** What a user reads, a few things at a time: who asks for thousands at once waits for those, and keeps no other user waiting. */
export class ReadTurns {
  /** By name; users are few. */
  readonly #queues = new Map<string, PQueue>();

  /** Not done when its caller is gone by then, nor when too many of that user wait: throws `rate_limited`. */
  take<Result>(user: string, signal: AbortSignal, read: () => Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(user) ?? new PQueue({ concurrency: AT_ONCE });
    this.#queues.set(user, queue);
    if (queue.size >= MOST_WAITING) throw new ConsoleError('rate_limited', { resetInSeconds: 1 });
    return queue.add(() => {
      if (signal.aborted) throw new ConsoleError('unavailable');
      return read();
    });
  }
}
