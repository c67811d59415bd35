const FIRST_MS = 500;
const LONGEST_MS = 60_000;
/** After a connection of this length, the next loss starts from the shortest pause again. */
const GOOD_AFTER_MS = 60_000;

/**
 * How long to wait before the next attempt to connect: doubling, with jitter so that a fleet does not come back in step.
 * Reset by a connection that stayed open, not by one that merely opened.
 */
export class ReconnectBackoff {
  private attempts = 0;
  private openedAtMs: number | undefined;

  constructor(private readonly monotonicMs: () => number) {}

  opened(): void {
    this.openedAtMs = this.monotonicMs();
  }

  /** @param atLeastMs what the network asked for. */
  nextDelayMs(atLeastMs = 0): number {
    if (this.openedAtMs !== undefined && this.monotonicMs() - this.openedAtMs >= GOOD_AFTER_MS) this.attempts = 0;
    this.openedAtMs = undefined;
    const baseMs = Math.max(atLeastMs, Math.min(FIRST_MS * 2 ** this.attempts, LONGEST_MS) / 2);
    this.attempts++;
    return baseMs + Math.random() * Math.min(baseMs, LONGEST_MS / 2);
  }
}
