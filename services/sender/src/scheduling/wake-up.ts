/** Lets one loop sleep until it is rung or time has passed; a ring while it is awake is not lost. */
export class WakeUp {
  private rung = false;
  private wake: (() => void) | undefined;

  ring(): void {
    this.rung = true;
    this.wake?.();
  }

  async wait(timeoutMs: number): Promise<void> {
    if (!this.rung) await this.sleep(timeoutMs);
    this.rung = false;
  }

  private async sleep(timeoutMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      this.wake = resolve;
      timer = setTimeout(resolve, timeoutMs);
    });
    clearTimeout(timer);
    this.wake = undefined;
  }
}
