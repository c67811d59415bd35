/**
 * People whose hidden identifier changed, and the accounts that have asked for the new one since. Until an account asks,
 * the acks of its messages to such a person say `refresh_lid`. In memory only.
 */
export class StaleLids {
  /** Person -> how many messages each account sent since, and which accounts know the new identifier. */
  readonly #people = new Map<string, { readonly sends: Map<string, number>; readonly informed: Set<string> }>();

  mark(person: string): void {
    this.#people.set(person, { sends: new Map(), informed: new Set() });
  }

  clear(person: string): void {
    this.#people.delete(person);
  }

  /** Counts a message: how many the account sent since the person's identifier changed; 0 if it knows the new one. */
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
