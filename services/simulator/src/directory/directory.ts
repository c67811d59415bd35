import type { Seed } from '../crypto/seed.js';
import { canonicalNumber } from './canonical-number.js';
import { type Addressing, makeJid, parseJid } from './jids.js';
import { LidMapping } from './lid-mapping.js';

/** One device of one account, and how the sender of a stanza named it. */
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

  constructor(seed: Seed) {
    this.#lids = new LidMapping(seed);
  }

  exists(number: string): boolean {
    return NUMBER.test(number) && !this.#absent.has(number) && canonicalNumber(number) === number;
  }

  setExists(number: string, exists: boolean): void {
    if (exists) this.#absent.delete(number);
    else this.#absent.add(number);
  }

  /** Who answers to a number that somebody typed. */
  canonical(number: string): string {
    return canonicalNumber(number);
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
      return { number: parsed.user, device, addressing: 'pn' };
    }
    if (parsed.server === 'lid') return { number: this.#lids.numberOf(parsed.user), device, addressing: 'lid' };
    return undefined;
  }

  jidOf(number: string, addressing: Addressing, device = 0): string {
    return addressing === 'pn'
      ? makeJid(number, 's.whatsapp.net', device)
      : makeJid(this.#lids.lidOf(number), 'lid', device);
  }
}
