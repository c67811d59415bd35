/**
 * Lets a loop sleep until it is rung or time has passed; a ring while it is awake is not lost. Who ends the loop may sleep beside it,
 * and take its rings.
 */
export class WakeUp {
  private rung = false;
  private readonly sleeps = new Set<Sleep>();

  ring(): void {
    this.rung = true;
    for (const sleep of this.sleeps) sleep.wake();
  }

  /** What sleeps now does so no longer than this from now. */
  wakeWithin(ms: number): void {
    for (const sleep of this.sleeps) sleep.shorten(ms);
  }

  async wait(timeoutMs: number): Promise<void> {
    if (!this.rung) await this.sleep(timeoutMs);
    this.rung = false;
  }

  private async sleep(timeoutMs: number): Promise<void> {
    const sleep = new Sleep(timeoutMs);
    this.sleeps.add(sleep);
    await sleep.ended;
    this.sleeps.delete(sleep);
  }
}

class Sleep {
  readonly ended: Promise<void>;
  private end: () => void = () => {};
  private timer: NodeJS.Timeout | undefined;
  private endMs = Number.POSITIVE_INFINITY;

  constructor(ms: number) {
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
    this.shorten(ms);
  }

  wake(): void {
    clearTimeout(this.timer);
    this.end();
  }

  shorten(ms: number): void {
    if (performance.now() + ms >= this.endMs) return;
    clearTimeout(this.timer);
    this.endMs = performance.now() + ms;
    this.timer = setTimeout(this.end, ms);
  }
}
