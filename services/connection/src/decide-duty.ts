import type { DesiredState } from '@gateway/contracts/devices/device-state';
import type { DeviceState } from '@gateway/store/devices/device-state';

/** What the connection service has to do for a device that nobody holds. */
export type Duty =
  | { kind: 'none' }
  /** Open a linking socket and show its codes. */
  | { kind: 'link'; desired: DesiredState }
  /** Log the account out, if there is one, and wipe its keys. */
  | { kind: 'unlink'; desired: DesiredState }
  /** No sender has taken a linked device: keep it connected until one does. */
  | { kind: 'hold'; desired: DesiredState };

/**
 * Compares what is wanted with what is. Level-triggered: the same state always gives the same duty, however often it
 * is looked at, so a process that dies halfway is followed by one that does the same.
 * @param unheldForMs how long the device has been seen without an owner.
 * @param holdAfterMs how long senders have to claim a linked device.
 */
export function decideDuty(
  state: DeviceState,
  { unheldForMs, holdAfterMs }: { unheldForMs: number; holdAfterMs: number },
): Duty {
  const { desired, observed, leaseHeld, hasKeys } = state;
  if (!desired || leaseHeld) return { kind: 'none' };
  switch (desired.want) {
    case 'linking':
      return { kind: 'link', desired };
    case 'unlinked':
      return hasKeys || observed?.attemptId !== desired.attemptId ? { kind: 'unlink', desired } : { kind: 'none' };
    case 'parked':
      return { kind: 'none' };
    case 'linked':
      return hasKeys && unheldForMs >= holdAfterMs ? { kind: 'hold', desired } : { kind: 'none' };
  }
}
