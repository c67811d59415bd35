import type { DeviceAddress } from '@gateway/contracts/ids';
import { SHARDS } from '@gateway/contracts/shards';
import type { SessionKeeper } from '@gateway/fleet/session-keeper';
import type { Clock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { releaseBlobs } from '@gateway/store/blobs/blobs';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { findDueDevices } from '@gateway/store/fleet/shards/find-due-devices';
import { expireSends } from '@gateway/store/sends/change-send';

export interface SweepDeps {
  store: Store;
  keeper: SessionKeeper;
  clock: Clock;
  logger: Logger;
}

/** One round over all shards. What goes wrong with one device does not keep the others waiting. */
export async function sweepDevices(deps: SweepDeps, isStopped = () => false): Promise<void> {
  for (let shard = 0; shard < SHARDS && !isStopped(); shard++) {
    for (const address of await findDueDevices(deps.store, shard, deps.clock.nowMs())) {
      if (isStopped()) return;
      await sweepDevice(deps, address).catch((thrown: unknown) => {
        deps.logger.warn('device not swept', { ...address, error: toError(thrown) });
      });
    }
  }
}

async function sweepDevice({ store, keeper, clock }: SweepDeps, address: DeviceAddress): Promise<void> {
  const ownership = await keeper.acquire(address);
  // It has an owner, who does all this on its own ticks.
  if (!ownership) return;
  try {
    const nowMs = clock.nowMs();
    await expireSends(store, ownership, nowMs);
    await releaseBlobs(store, address);
  } finally {
    await keeper.release(ownership);
    // Processes that saw that we hold it may claim it now.
    await ringDoorbell(store, { topic: 'owner', ...address });
  }
}
