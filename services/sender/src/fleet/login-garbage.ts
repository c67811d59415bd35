/** Below that it is not worth a pause. */
const MIN_LOGINS = 50;
/** What modules leave behind when they are loaded is as much as the garbage of so many logins. */
const LOGINS_OF_START = MIN_LOGINS;

/**
 * A login makes some hundred kilobytes of garbage that V8 keeps: a process that does nothing else collects none. After the
 * start, and after many logins, it is collected once: when for a second no device was opened and no message is in flight.
 */
export class LoginGarbage {
  private open = 0;
  private logins = LOGINS_OF_START;
  private wasQuiet = false;

  constructor(private readonly collect: () => void) {}

  /**
   * Called once a second.
   * @param isBusy a device is being opened, or a message is in flight.
   */
  tick({ open, isBusy }: { open: number; isBusy: boolean }): void {
    const more = Math.max(0, open - this.open);
    this.open = open;
    this.logins += more;
    const isQuiet = more === 0 && !isBusy;
    if (isQuiet && this.wasQuiet && this.logins >= MIN_LOGINS) {
      this.logins = 0;
      this.collect();
    }
    this.wasQuiet = isQuiet;
  }
}
