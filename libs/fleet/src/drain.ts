import type { Clock } from '@gateway/runtime/clock';

export interface DrainDeps<Device> {
  clock: Clock;
  /** Gives a device up: resolves when another process can claim it. Must not reject. */
  release(device: Device): Promise<unknown>;
  /** Resolves when another process has it, or after `ms`. Must not reject. */
  untilTaken(device: Device, ms: number): Promise<unknown>;
  /** Whether there are processes that can take devices. */
  hasTakers(): boolean;
}

/** How many devices are without an owner at a time. */
const AT_ONCE = 4;
/** One that no process takes must not keep the others here. */
const TAKEN_MS = 3_000;
/** In all, below what is left of `terminationGracePeriodSeconds` (90) when sockets are closed and queues given back. */
const DRAIN_MS = 70_000;

/**
 * Gives up the devices of a process that ends, only as fast as others open them: all at once would be without a connection
 * until the last of them has logged in. Without takers, or when the time is over, nothing is waited for.
 */
export async function drainDevices<Device>(devices: Iterable<Device>, deps: DrainDeps<Device>): Promise<void> {
  const { clock, release, untilTaken, hasTakers } = deps;
  const untilMs = clock.monotonicMs() + DRAIN_MS;
  const left = [...devices];
  const mayWait = () => hasTakers() && clock.monotonicMs() < untilMs;
  const drain = async () => {
    while (left.length > 0 && mayWait()) {
      const device = left.shift()!;
      await release(device);
      if (mayWait()) await untilTaken(device, TAKEN_MS);
    }
    await Promise.all(left.splice(0).map(release));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, drain));
}
