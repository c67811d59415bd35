import { setTimeout as delay } from 'node:timers/promises';
import type { Clock } from '@gateway/runtime/clock';
import { type Deferred, defer } from '@gateway/runtime/deferred';
import type { Dispatched } from './dispatch-message.js';

/**
 * So long after it came, and after each step that it goes on, a code has the device to itself: a step is a few round trips to Redis, which
 * may be far away. Longer, and one that is stuck would hold up the lists.
 */
const FIRST_MS = 1_000;
/** Of a network that is near: what lists do until its answer comes before that. One that is far away is not waited for. */
const NEAR_MS = 20;

/**
 * From the first that is heard of it to its answer a one-time password has the device to itself. What lists do meanwhile
 * would come before it: their lookups fill the event loop, and their messages the library's queue.
 */
export class CodesFirst {
  private firstUntilMs = 0;
  private inFlight = 0;
  private end: Deferred<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  /**
   * @param urgently while this runs lookups of lists do nothing, and the library gets no message of them.
   * @param onEnd lists may go on: the answer to a code is there, or is not waited for any more.
   */
  constructor(
    private readonly clock: Clock,
    private readonly urgently: (work: () => Promise<void>) => unknown,
    private readonly onEnd: () => void,
  ) {}

  /** One is to be loaded, or has gone on a step. */
  goOn(): void {
    this.firstUntilMs = this.clock.monotonicMs() + FIRST_MS;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.giveUp(), FIRST_MS).unref();
    if (this.end) return;
    const end = defer<void>();
    this.end = end;
    this.urgently(() => end.promise);
  }

  /** Its message is started. */
  follow(writing: Extract<Dispatched, { kind: 'started' }>['writing']): void {
    this.goOn();
    this.inFlight++;
    void writing
      .then((written) => written && Promise.race([written.settled, delay(NEAR_MS, undefined, { ref: false })]))
      // Its sender hears of that, too.
      .catch(() => {})
      .finally(() => {
        this.inFlight--;
        this.onEnd();
      });
  }

  /** Whether lists wait. To be asked whenever something has changed: they go on as soon as the answer is no. */
  haveDevice({ hasWaiting }: { hasWaiting: boolean }): boolean {
    const haveIt = (hasWaiting || this.inFlight > 0) && this.clock.monotonicMs() < this.firstUntilMs;
    if (!haveIt) this.stop();
    return haveIt;
  }

  /** It may wait for its pace for long, while nothing else changes. */
  private giveUp(): void {
    this.firstUntilMs = 0;
    this.stop();
    this.onEnd();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.end?.resolve();
    this.end = undefined;
  }
}
