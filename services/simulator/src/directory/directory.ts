import type { Seed } from '../crypto/seed.js';
import { canonicalNumber } from './canonical-number.js';
import { IdentityBook } from './identity-book.js';
import { type Addressing, makeJid, parseJid } from './jids.js';
import { LidMapping } from './lid-mapping.js';
import { isWithoutNumber } from './lid-person.js';

/** One device of one account, and how the sender of a stanza named it. People without a number have `lid:<digits>` for one. */
export interface Address {
  readonly number: string;
  readonly device: number;
  readonly addressing: Addressing;
}

const NUMBER = /^[1-9]\d{4,14}$/;

/**
 * Which numbers there are and what they are called. Every well-formed number exists until it is said not to,
 * so a million of them cost nothing.
 */
export class Directory {
  readonly #lids: LidMapping;
  readonly #absent = new Set<string>();
  /** People whose names differ from what the mapping says. */
  readonly identities = new IdentityBook();

  constructor(seed: Seed) {
    this.#lids = new LidMapping(seed);
  }

  exists(number: string): boolean {
    if (this.#absent.has(number)) return false;
    return NUMBER.test(number) ? canonicalNumber(number) === number : this.identities.has(number);
  }

  setExists(number: string, exists: boolean): void {
    if (exists) this.#absent.delete(number);
    else this.#absent.add(number);
  }

  /** Who answers to a number as a person typed it. */
  canonical(number: string): string {
    const canonical = canonicalNumber(number);
    return this.identities.ownerOf(canonical) ?? canonical;
  }

  /** A person gets another hidden identifier; the earlier ones go on leading to them. */
  renewLid(number: string): void {
    const digits = this.#lidDigits(number);
    this.identities.renew(number, digits);
    this.identities.renew(number, this.#lids.lidOf(digits));
  }

  save(): string[] {
    return [...this.#absent];
  }

  load(absent: readonly string[]): void {
    for (const number of absent) this.#absent.add(number);
  }

  /** The person or device a jid names, whether or not the number exists; undefined for groups, the server and nonsense. */
  resolve(jid: string | undefined): Address | undefined {
    const parsed = parseJid(jid);
    if (!parsed || !/^\d+$/.test(parsed.user)) return undefined;
    const { device } = parsed;
    if (parsed.server === 's.whatsapp.net' || parsed.server === 'c.us') {
      return { number: this.identities.ownerOf(parsed.user) ?? parsed.user, device, addressing: 'pn' };
    }
    if (parsed.server !== 'lid') return undefined;
    const number = this.identities.personOf(parsed.user) ?? this.#lids.numberOf(parsed.user);
    return { number, device, addressing: 'lid' };
  }

  /** What a person is called in a namespace; by hidden identifier in both, if there is no number. */
  jidOf(person: string, addressing: Addressing, device = 0): string {
    const number = this.numberOf(person);
    return addressing === 'pn' && number !== undefined
      ? makeJid(number, 's.whatsapp.net', device)
      : makeJid(this.#lidDigits(person), 'lid', device);
  }

  /** Who is meant by a number or by `lid:<digits>`. */
  personNamed(name: string): string {
    return this.identities.ownerOf(name) ?? name;
  }

  /** The hidden identifier that goes with the person's number by itself. */
  assignedLid(person: string): string {
    return this.#lids.lidOf(person);
  }

  /** The number of a person, unless only their hidden identifier is known. */
  numberOf(person: string): string | undefined {
    return isWithoutNumber(person) ? this.identities.numberOf(person) : person;
  }

  #lidDigits(person: string): string {
    return this.identities.lidOf(person) ?? this.#lids.lidOf(person);
  }
}
