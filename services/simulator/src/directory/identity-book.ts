import { LID_PERSON } from './lid-person.js';

export interface IdentityState {
  readonly lids: ReadonlyMap<string, string>;
  readonly earlier: ReadonlyMap<string, string>;
  readonly numbers: ReadonlyMap<string, string>;
}

/**
 * The people whose identifiers are not what the mapping of numbers says: those who got a new hidden identifier, and those who
 * are known by one only. The latter go by `lid:<digits>` wherever others go by their number, also once their number is known.
 */
export class IdentityBook {
  /** Person -> digits of their hidden identifier. */
  readonly #lids = new Map<string, string>();
  /** Digits of a hidden identifier, of now or of before -> person. */
  readonly #people = new Map<string, string>();
  /** `lid:<digits>` -> their number, once it is known. */
  readonly #numbers = new Map<string, string>();
  /** Number -> `lid:<digits>`. */
  readonly #owners = new Map<string, string>();

  /** Adds a person who is known by a hidden identifier only, and answers their name. Safe to repeat. */
  addWithoutNumber(digits: string): string {
    const person = `${LID_PERSON}${digits}`;
    if (!this.has(person)) this.renew(person, digits);
    return person;
  }

  /** A person has another hidden identifier from now on; the earlier ones go on leading to them. */
  renew(person: string, digits: string): void {
    this.#lids.set(person, digits);
    this.#people.set(digits, person);
  }

  reveal(person: string, number: string): void {
    this.#numbers.set(person, number);
    this.#owners.set(number, person);
  }

  has(person: string): boolean {
    return this.#lids.has(person);
  }

  lidOf(person: string): string | undefined {
    return this.#lids.get(person);
  }

  personOf(lidDigits: string): string | undefined {
    return this.#people.get(lidDigits);
  }

  /** The number of a person who was known by a hidden identifier only. */
  numberOf(person: string): string | undefined {
    return this.#numbers.get(person);
  }

  ownerOf(number: string): string | undefined {
    return this.#owners.get(number);
  }

  save(): IdentityState {
    return { lids: this.#lids, earlier: this.#people, numbers: this.#numbers };
  }

  load({ lids, earlier, numbers }: IdentityState): void {
    for (const [digits, person] of earlier) this.#people.set(digits, person);
    for (const [person, digits] of lids) this.renew(person, digits);
    for (const [person, number] of numbers) this.reveal(person, number);
  }
}
