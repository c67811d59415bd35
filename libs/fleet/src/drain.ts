import { type Clock, inTime } from '@gateway/runtime/clock';

export interface DrainDeps<Device> {
  clock: Clock;
  /** Gives a device up, for another process to claim. Must not reject. */
  release(device: Device): Promise<unknown>;
  /** Resolves when another process has it connected, or after `ms`. Must not reject. */
  untilConnected(device: Device, ms: number): Promise<unknown>;
  /** Whether there are processes that can take devices. */
  hasTakers(): boolean;
  /** Default 8 s. For tests. */
  connectedMs?: number;
  /** What one whose node is away still has to write waits for that node: it is another's as soon as our session is over. Default 8 s. */
  releasedMs?: number;
}

/** How many devices are without a connection at a time, at least; of many devices a 40th, so that the time is enough. */
const AT_ONCE = 4;
const ROUNDS = 40;
/** One that no process connects must not keep the others here. */
const CONNECTED_MS = 8_000;
const RELEASED_MS = 8_000;
/** In all, below what is left of `terminationGracePeriodSeconds` (90) when sockets are closed and queues given back. */
const DRAIN_MS = 70_000;

/**
 * Gives up the devices of a process that ends, only as fast as others connect them: all at once would be without a connection
 * until the last of them has logged in. Without takers, or when the time is over, nothing is waited for.
 */
export async function drainDevices<Device>(devices: readonly Device[], deps: DrainDeps<Device>): Promise<void> {
  const { clock, release, untilConnected, hasTakers, connectedMs = CONNECTED_MS, releasedMs = RELEASED_MS } = deps;
  const untilMs = clock.monotonicMs() + DRAIN_MS;
  const left = [...devices];
  const released: Promise<unknown>[] = [];
  const mayWait = () => hasTakers() && clock.monotonicMs() < untilMs;
  const drain = async () => {
    while (left.length > 0 && mayWait()) {
      const device = left.shift()!;
      const connected = inTime(untilConnected(device, connectedMs), connectedMs);
      // It is another's before all that it had here has ended.
      released.push(release(device));
      await connected;
    }
    released.push(...left.splice(0).map(release));
  };
  await Promise.all(Array.from({ length: Math.max(AT_ONCE, Math.ceil(devices.length / ROUNDS)) }, drain));
  await inTime(Promise.all(released), releasedMs);
}
