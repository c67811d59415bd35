import { compareCursors } from '@gateway/contracts/events/cursor';

/** So many requests of the whole process: what a failover takes back is a second. */
const KEPT = 10_000;

/** A part of the log, from some cursor on, in which nothing is for an endpoint. */
export interface Passed {
  to: string;
  /** Of the log. */
  entries: number;
}

/**
 * Where the requests ended that this process made lately. A Redis that fails over without its last second no longer knows them, and more
 * has come into the log since: they are cut as before, so that they come again under their ids.
 */
export class PostedRanges {
  readonly #ends = new Map<string, string>();
  readonly #passed = new Map<string, Passed>();

  /** @param place of which lane of which endpoint, and behind which cursor. */
  note(place: string, to: string): void {
    this.#ends.delete(place);
    this.#ends.set(place, to);
    if (this.#ends.size > KEPT) this.#ends.delete(this.#ends.keys().next().value!);
  }

  /** Never behind `to`: what the log has lost as well comes into it anew, and may not be passed over. */
  cut(place: string, to: string): string {
    const known = this.#ends.get(place);
    return known !== undefined && compareCursors(known, to) < 0 ? known : to;
  }

  /** What was looked through is not read again. @param place behind which cursor, of an endpoint as it is until its next change. */
  passed(place: string): Passed | undefined {
    return this.#passed.get(place);
  }

  notePassed(place: string, passed: Passed): void {
    this.#passed.delete(place);
    this.#passed.set(place, passed);
    if (this.#passed.size > KEPT) this.#passed.delete(this.#passed.keys().next().value!);
  }
}
