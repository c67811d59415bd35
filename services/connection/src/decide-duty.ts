import { askedPauseEndMs, type DesiredState } from '@gateway/contracts/devices/device-state';
import type { DeviceState } from '@gateway/store/devices/device-state';

/** What the connection service has to do for a device that no process owns. */
export type Duty =
  | { kind: 'none' }
  /** Open a linking socket and show its codes. */
  | { kind: 'link'; desired: DesiredState }
  /** Log the account out, if there is one, and wipe its keys. */
  | { kind: 'unlink'; desired: DesiredState }
  /** No sender has logged in after a new link, as the network expects: do it once. */
  | { kind: 'complete'; desired: DesiredState };

/**
 * Compares what is wanted with what is. Level-triggered: the same state always gives the same duty, however often it
 * is looked at, so if a process dies halfway, the next one does the same.
 * @param senderWaitMs how long senders have to claim a newly linked device.
 */
export function decideDuty(
  { desired, observed, isOwned, hasKeys }: DeviceState,
  { nowMs, senderWaitMs }: { nowMs: number; senderWaitMs: number },
): Duty {
  if (!desired || isOwned) return { kind: 'none' };
  switch (desired.want) {
    case 'linking':
      return { kind: 'link', desired };
    case 'unlinked':
      return hasKeys || observed?.attemptId !== desired.attemptId ? { kind: 'unlink', desired } : { kind: 'none' };
    case 'parked':
      return { kind: 'none' };
    case 'linked': {
      // One of a time to come was made while the clock of Redis was ahead.
      const isDue = observed?.firstLogin === 'due' && Math.abs(nowMs - observed.sinceMs) >= senderWaitMs;
      return hasKeys && isDue && askedPauseEndMs(observed) <= nowMs ? { kind: 'complete', desired } : { kind: 'none' };
    }
  }
}
