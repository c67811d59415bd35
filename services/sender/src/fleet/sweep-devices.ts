import type { DeviceAddress, Workspace } from '@gateway/contracts/ids';
import type { LeaseKeeper } from '@gateway/fleet/lease-keeper';
import type { Producer } from '@gateway/queue/producer';
import type { Clock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { releaseBlobs } from '@gateway/store/blobs/blobs';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { listDevices } from '@gateway/store/devices/devices';
import { dropAbandonedSends } from '@gateway/store/sends/accepting/accept-send';
import { eraseSpentOtps, expireSends, hasDueSends } from '@gateway/store/sends/change-send';

export interface SweepDeps {
  store: Store;
  keeper: LeaseKeeper;
  producer: Producer;
  clock: Clock;
  logger: Logger;
  workspace: Workspace;
}

/** One round over all devices of the workspace. What goes wrong with one device does not keep the others waiting. */
export async function sweepDevices(deps: SweepDeps, isStopped = () => false): Promise<void> {
  const { store, clock, logger, workspace } = deps;
  for (const device of await listDevices(store, workspace)) {
    if (isStopped()) return;
    const address = { workspace, device };
    try {
      if (await hasDueSends(store, address, clock.nowMs())) await sweepDevice(deps, address);
    } catch (thrown) {
      logger.warn('device not swept', { device, error: toError(thrown) });
    }
  }
}

async function sweepDevice({ store, keeper, producer, clock }: SweepDeps, address: DeviceAddress): Promise<void> {
  const lease = await keeper.acquire(address);
  // It has an owner, who does all this on its own ticks.
  if (!lease) return;
  try {
    const nowMs = clock.nowMs();
    await dropAbandonedSends(store, address, { nowMs, hasJob: (messageId) => producer.hasSend(address, messageId) });
    await expireSends(store, lease, nowMs);
    await eraseSpentOtps(store, address, nowMs);
    await releaseBlobs(store, address);
  } finally {
    await keeper.release(lease);
    // Whoever saw that we hold it may claim it.
    await ringDoorbell(store, { topic: 'lease', ...address });
  }
}
