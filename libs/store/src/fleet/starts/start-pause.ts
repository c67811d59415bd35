/** An ownership that holds for this long went well. */
export const LASTED_MS = 30_000;

/** Processes that are killed or replaced one after the other are no fault of the device. */
const FREE_FAILURES = 5;
const FIRST_MS = 5_000;
const LONGEST_MS = 2 * 60_000;

/**
 * How long a new owner waits before it works on a device whose owners failed, or died with their process, one after the
 * other: what it does may end this process, too, and with it the connections of all its devices.
 *
 * The pauses are spread widely. Devices that merely shared a process with the one that ends it come back at other times
 * than that one, last for a while, and are free of suspicion.
 * @param failed owners since one has lasted.
 */
export function startPauseMs(failed: number, random = Math.random()): number {
  const tooMany = failed - FREE_FAILURES;
  if (tooMany < 0) return 0;
  return Math.ceil(Math.min(FIRST_MS * 2 ** tooMany, LONGEST_MS) * (0.1 + 0.9 * random));
}
