/**
 * Whose hidden identifier changed, and which accounts have not asked for the new one yet: their acks say `refresh_lid`
 * until they do. In memory only.
 */
export class StaleLids {
  /** Person -> account -> how many messages it sent since. An account that asked has no entry but is among the informed. */
  readonly #people = new Map<string, { readonly sends: Map<string, number>; readonly informed: Set<string> }>();

  mark(person: string): void {
    this.#people.set(person, { sends: new Map(), informed: new Set() });
  }

  clear(person: string): void {
    this.#people.delete(person);
  }

  /** A message of an account to a person: how many there were since the person's identifier changed; 0 if the account knows the new one. */
  noteSend(account: string, person: string): number {
    const stale = this.#people.get(person);
    if (!stale || stale.informed.has(account)) return 0;
    const sends = (stale.sends.get(account) ?? 0) + 1;
    stale.sends.set(account, sends);
    return sends;
  }

  /** An account asked for the hidden identifier of a number. */
  inform(account: string, person: string): void {
    const stale = this.#people.get(person);
    stale?.sends.delete(account);
    stale?.informed.add(account);
  }
}
