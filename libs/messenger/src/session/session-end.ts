import { setMaxListeners } from 'node:events';
import type { DisconnectOutcome } from '../codes/disconnect-outcomes.js';

/** The end of a session. Many things can bring it about, often several at once: the first one counts. */
export class SessionEnd {
  readonly #controller = new AbortController();
  #outcome: DisconnectOutcome | undefined;

  constructor() {
    // Every active send and lookup listens.
    setMaxListeners(0, this.#controller.signal);
  }

  /** Aborted as soon as the end has begun. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get outcome(): DisconnectOutcome | undefined {
    return this.#outcome;
  }

  begin(outcome: DisconnectOutcome): void {
    if (this.#outcome) return;
    this.#outcome = outcome;
    this.#controller.abort();
  }
}
