const WINDOW_MS = 10 * 60_000;
const TOO_OFTEN = 3;

/**
 * Counts how often another client has taken the place of a device whose lease is ours: someone outside uses its keys.
 * Taking it back by reflex would be a fight without an end, so after three times in ten minutes we give up.
 */
export class ReplacedCount {
  private times: number[] = [];

  constructor(private readonly monotonicMs: () => number) {}

  /** Counts one more, and says whether that is one too many. */
  isTooOften(): boolean {
    const now = this.monotonicMs();
    this.times = [...this.times.filter((at) => now - at < WINDOW_MS), now];
    return this.times.length >= TOO_OFTEN;
  }
}
