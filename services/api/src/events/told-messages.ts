import { comparePlaces, type LogPlace } from '@gateway/contracts/events/cursor';
import type { RenderedEvent } from '@gateway/store/events/render-events';

/** Tokens. */
const KEPT = 10_000;

/**
 * Which messages of people a token was told by this process. Who reads was told up to there before: what is read again is not counted, as
 * it may have had its content the first time.
 */
export class ToldMessages {
  readonly #upTo = new Map<string, LogPlace>();

  /** How many of them it is told for the first time, and without their content, for which there was no room. */
  note(keyId: string, rows: readonly RenderedEvent[]): number {
    let upTo = this.#upTo.get(keyId);
    let lost = 0;
    for (const { event, place, lostContent } of rows) {
      if (event.type !== 'message.received' || (upTo && comparePlaces(place, upTo) <= 0)) continue;
      upTo = place;
      if (lostContent) lost++;
    }
    if (upTo) this.#keep(keyId, upTo);
    return lost;
  }

  #keep(keyId: string, upTo: LogPlace): void {
    this.#upTo.delete(keyId);
    this.#upTo.set(keyId, upTo);
    if (this.#upTo.size > KEPT) this.#upTo.delete(this.#upTo.keys().next().value!);
  }
}
