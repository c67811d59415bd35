/** Few people are shown without a number, and most numbers are known soon after. */
const MAX_WRITERS = 2_000;

/** The hidden identifiers of people who wrote, and whose number is not known yet: the latest of them. */
export class WritersWithoutNumber {
  private readonly hiddenIds = new Set<string>();

  add(hiddenId: string): void {
    this.hiddenIds.delete(hiddenId);
    this.hiddenIds.add(hiddenId);
    if (this.hiddenIds.size <= MAX_WRITERS) return;
    const [oldest] = this.hiddenIds;
    this.hiddenIds.delete(oldest!);
  }

  /** Whether they wrote; true once. */
  take(hiddenId: string): boolean {
    return this.hiddenIds.delete(hiddenId);
  }
}
