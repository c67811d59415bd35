import { canonicalPhoneNumber } from '@gateway/contracts/people/phone-number';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Store } from '../core/store.js';
import type { Ownership } from '../fleet/ownership.js';
import { findHiddenWishes } from './hidden-opt-outs.js';
import { joinOptOuts, type NameBook } from './join-opt-outs.js';

interface JoinsDeps {
  store: Store;
  ownership: Pick<Ownership, 'address'>;
  logger: Logger;
  /** After numbers that were not answered; grows with each pause in a row. Default 1 s. */
  firstPauseMs?: number;
}

/** Answers questions about numbers (`MessengerSession`). */
interface Asked extends NameBook {
  lookUp(numbers: readonly string[]): Promise<ReadonlyMap<string, { exists: boolean } | { error: number }>>;
}

/** A person by both names: digits, and `digits@lid`. */
interface NamedPerson {
  phone: string;
  hiddenId: string;
}

const AT_A_TIME = 100;
/** As many as a phone can name in one go. Beyond that new ones are left to the message to them, which asks under both names. */
const MOST_WAITING = 20_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 10 * 60_000;

/**
 * Joins the two names of people who opted out under a hidden identifier as soon as their number is known: from the
 * phone, its history, or the network. A phone may make up a pair, which would move a wish to the number of another: so
 * the network is asked for each number, and its own answer decides.
 *
 *   heard -> (on the list under the hidden identifier) wanted -> (the network has answered) joined, and forgotten
 *
 * People without an answer are asked about again: after a growing pause, or in the next session.
 */
export class OptOutJoins {
  /** People for whom it is not known yet whether they are on the list. */
  private readonly heard = new Map<string, NamedPerson>();
  /** Numbers that the network is to be asked about. */
  private readonly wanted = new Set<string>();
  private session: Asked | undefined;
  private isRunning = false;
  private pause: NodeJS.Timeout | undefined;
  private pauses = 0;

  constructor(private readonly deps: JoinsDeps) {}

  attach(session: Asked): void {
    this.session = session;
    this.pauses = 0;
    this.goOn();
  }

  detach(): void {
    this.session = undefined;
    this.endPause();
  }

  /** These numbers and hidden identifiers are said to belong together. Called often. */
  numbersKnown(people: readonly NamedPerson[]): void {
    for (const person of people) {
      if (this.heard.size + this.wanted.size >= MOST_WAITING) break;
      this.heard.set(`${person.phone} ${person.hiddenId}`, person);
    }
    void this.run();
  }

  /** An operator wants nothing kept of a person. */
  forget(number: string): void {
    const isMeant = (phone: string) => canonicalPhoneNumber(phone) === canonicalPhoneNumber(number);
    for (const [key, { phone }] of this.heard) if (isMeant(phone)) this.heard.delete(key);
    for (const phone of this.wanted) if (isMeant(phone)) this.wanted.delete(phone);
  }

  private goOn(): void {
    this.endPause();
    void this.run();
  }

  private endPause(): void {
    clearTimeout(this.pause);
    this.pause = undefined;
  }

  private async run(): Promise<void> {
    if (this.isRunning) return;
    this.isRunning = true;
    try {
      await this.joinAll();
      if (this.wanted.size === 0) this.pauses = 0;
    } catch (thrown) {
      this.deps.logger.debug('opt-outs not yet assigned to numbers', { error: toError(thrown) });
      this.tryLater();
    } finally {
      this.isRunning = false;
    }
  }

  private tryLater(): void {
    const { firstPauseMs = FIRST_PAUSE_MS } = this.deps;
    const pauseMs = Math.min(firstPauseMs * 2 ** this.pauses, LONGEST_PAUSE_MS);
    this.pauses += 1;
    this.endPause();
    this.pause = setTimeout(() => this.goOn(), pauseMs).unref();
  }

  private async joinAll(): Promise<void> {
    do {
      await this.findWanted();
      if (this.session && !this.pause) await this.joinWanted(this.session);
    } while (this.heard.size > 0);
  }

  private async findWanted(): Promise<void> {
    const { store, ownership } = this.deps;
    for (const people of inParts([...this.heard])) {
      const hiddenIds = people.map(([, { hiddenId }]) => hiddenId);
      const wishes = await findHiddenWishes(store, ownership.address.workspace, hiddenIds);
      for (const [key, { phone, hiddenId }] of people) {
        // Not of those who were forgotten meanwhile.
        if (this.heard.delete(key) && wishes.has(hiddenId)) this.wanted.add(phone);
      }
    }
  }

  /** Rejects when some of them are still wanted after it. */
  private async joinWanted(session: Asked): Promise<void> {
    let unanswered = 0;
    for (const part of inParts([...this.wanted])) {
      const numbers = part.filter((number) => this.wanted.has(number));
      const found = await session.lookUp(numbers);
      const answered = numbers.filter((number) => 'exists' in (found.get(number) ?? {}));
      await joinOptOuts(this.deps, session, answered);
      for (const number of answered) this.wanted.delete(number);
      unanswered += numbers.length - answered.length;
    }
    if (unanswered > 0) throw new Error(`${unanswered} numbers could not be looked up`);
  }
}

function* inParts<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let from = 0; from < items.length; from += AT_A_TIME) yield items.slice(from, from + AT_A_TIME);
}
