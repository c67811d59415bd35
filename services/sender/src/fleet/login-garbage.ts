/** Below that it is not worth a pause. */
const MIN_LOGINS = 50;
/** What modules leave behind when they are loaded is as much as the garbage of so many logins. */
const LOGINS_OF_START = MIN_LOGINS;
/** V8 makes its space for new objects small again only where little was allocated in the last five seconds. */
const QUIET_SECONDS = 6;

/**
 * A login makes some hundred kilobytes of garbage that V8 keeps: a process that does nothing else collects none. After the
 * start, and after many logins, it is collected once: when for some seconds no device was opened and no message was in flight.
 */
export class LoginGarbage {
  private open = 0;
  private logins = LOGINS_OF_START;
  private quietSeconds = 0;

  constructor(private readonly collect: () => void) {}

  /**
   * Called once a second.
   * @param isBusy a device is being opened, or a message is in flight.
   */
  tick({ open, isBusy }: { open: number; isBusy: boolean }): void {
    const more = Math.max(0, open - this.open);
    this.open = open;
    this.logins += more;
    this.quietSeconds = more === 0 && !isBusy ? this.quietSeconds + 1 : 0;
    if (this.quietSeconds < QUIET_SECONDS || this.logins < MIN_LOGINS) return;
    this.logins = 0;
    this.collect();
  }
}
