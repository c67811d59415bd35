/** Bytes, or messages, by who holds them. */
export class Shares {
  readonly #byHolder = new Map<string, number>();
  #all = 0;

  get all(): number {
    return this.#all;
  }

  of(holder: string): number {
    return this.#byHolder.get(holder) ?? 0;
  }

  add(holder: string, amount: number): void {
    this.#all += amount;
    const theirs = this.of(holder) + amount;
    if (theirs > 0) this.#byHolder.set(holder, theirs);
    else this.#byHolder.delete(holder);
  }
}
