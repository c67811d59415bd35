import { setImmediate } from 'node:timers/promises';

/**
 * The last turn of the event loop that is given to a piece of long work, of any session of this process. Each turn has one, so that a
 * one-time password of any session waits for no more than that. Work that a one-time password waits for itself does not queue.
 */
let turn: Promise<unknown> = Promise.resolve();

/** Lets long work on the event loop give way to urgent work. */
export class RightOfWay {
  #urgent = 0;
  readonly #waiting: (() => void)[] = [];

  /** While this runs, callers of `giveWay` wait. */
  async urgently<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#urgent += 1;
    try {
      return await work();
    } finally {
      this.#urgent -= 1;
      if (this.#urgent === 0) this.lookAgain();
    }
  }

  /** Those who wait see whether they still have to. */
  lookAgain(): void {
    for (const look of this.#waiting.splice(0)) look();
  }

  /**
   * To be called between two pieces of long work: lets others have the event loop, and waits for urgent work to end, `unless` that waits for
   * this work itself.
   */
  async giveWay({ unless = () => false }: { unless?: () => boolean } = {}): Promise<void> {
    if (unless()) return setImmediate();
    turn = turn.then(() => setImmediate());
    await turn;
    while (this.#urgent > 0 && !unless()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}
