import { hostname } from 'node:os';
import { type DeviceAddress, makeProcessId } from '@gateway/contracts/ids';
import { type HeldDevice, SessionKeeper } from '@gateway/fleet/session-keeper';
import { systemClock } from '@gateway/runtime/clock';
import { standingOf } from '@gateway/store/core/confirming/watch-master';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { CliContext } from '../cli-context.js';

const SESSION_TTL_MS = 10_000;
const RETRY_MS = 250;

/**
 * Does `work` as the device's owner: no other process opens its session meanwhile, and writes are refused once the
 * ownership is lost. `undefined`, without calling `work`, if another process owns the device for all of `waitMs`.
 * @throws MasterInDoubtError the keys that a master has that was replaced are of the past
 */
export async function withDevice<Result>(
  { store, logger }: CliContext,
  address: DeviceAddress,
  { waitMs }: { waitMs: number },
  work: (ownership: HeldDevice) => Promise<Result>,
): Promise<{ result: Result } | undefined> {
  const owner = makeProcessId('cli', hostname());
  const { redis, confirmWrites } = store;
  const standing = standingOf(store, {
    ...{ redis, confirmWrites, logger },
    ...{ freshMs: SESSION_TTL_MS / 4, meanwhile: 'devices are held no longer' },
  });
  const keeper = new SessionKeeper({
    ...{ store, clock: systemClock, logger, owner, ttlMs: SESSION_TTL_MS },
    ...(standing && { standing }),
  });
  keeper.start();
  try {
    const ownership = await acquire(keeper, address, waitMs);
    if (!ownership) return undefined;
    try {
      return { result: await work(ownership) };
    } finally {
      await keeper.release(ownership);
      await ringDoorbell(store, { topic: 'owner', ...address });
    }
  } finally {
    await keeper.stop();
  }
}

async function acquire(keeper: SessionKeeper, address: DeviceAddress, waitMs: number): Promise<HeldDevice | undefined> {
  const deadlineMs = systemClock.monotonicMs() + waitMs;
  for (;;) {
    const ownership = await keeper.acquire(address);
    if (ownership || systemClock.monotonicMs() >= deadlineMs) return ownership;
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
