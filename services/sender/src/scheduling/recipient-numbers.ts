/** The numbers of a send, 8 bytes each, where a text takes ten times as many: there may be 150 lists of 10,000 for each device. */
export class RecipientNumbers {
  private readonly numbers: Float64Array;

  /** @param recipients with numbers of at most 15 digits, by index. */
  constructor(recipients: readonly { to: string }[]) {
    this.numbers = Float64Array.from(recipients, ({ to }) => Number(to));
  }

  /** Digits, as given. */
  of(index: number): string {
    return String(this.numbers[index]);
  }

  /** Those with these numbers, and those without. */
  split(indices: readonly number[], numbers?: ReadonlySet<string>): [number[], number[]] {
    const isMeant = (index: number) => numbers?.has(this.of(index)) ?? true;
    return [indices.filter(isMeant), indices.filter((index) => !isMeant(index))];
  }
}
