import { hostname } from 'node:os';
import { type DeviceAddress, makeProcessId } from '@gateway/contracts/ids';
import { type HeldLease, LeaseKeeper } from '@gateway/fleet/lease-keeper';
import { systemClock } from '@gateway/runtime/clock';
import { createLogger } from '@gateway/runtime/logs/logger';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';

const LEASE_TTL_MS = 10_000;
const RETRY_MS = 250;

/**
 * Does `work` as the device's owner: nobody else opens its session meanwhile, and what is written is refused once the
 * lease is gone. `undefined`, without work, when a process holds the device all through `waitMs`.
 */
export async function withDevice<Result>(
  store: Store,
  address: DeviceAddress,
  { waitMs }: { waitMs: number },
  work: (lease: HeldLease) => Promise<Result>,
): Promise<{ result: Result } | undefined> {
  const logger = createLogger({ service: 'cli', level: 'error', destination: process.stderr });
  const owner = makeProcessId('cli', hostname());
  const keeper = new LeaseKeeper({ store, clock: systemClock, logger, owner, ttlMs: LEASE_TTL_MS });
  keeper.start();
  try {
    const lease = await acquire(keeper, address, waitMs);
    if (!lease) return undefined;
    try {
      return { result: await work(lease) };
    } finally {
      await keeper.release(lease);
      await ringDoorbell(store, { topic: 'lease', ...address });
    }
  } finally {
    await keeper.stop();
  }
}

async function acquire(keeper: LeaseKeeper, address: DeviceAddress, waitMs: number): Promise<HeldLease | undefined> {
  const deadlineMs = systemClock.monotonicMs() + waitMs;
  for (;;) {
    const lease = await keeper.acquire(address);
    if (lease || systemClock.monotonicMs() >= deadlineMs) return lease;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
