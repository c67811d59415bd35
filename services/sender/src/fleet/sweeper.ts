import type { DeviceAddress, Workspace } from '@gateway/contracts/ids';
import type { Producer } from '@gateway/queue/producer';
import type { Clock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { releaseBlobs } from '@gateway/store/blobs/blobs';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { listDevices } from '@gateway/store/devices/devices';
import type { LeaseKeeper } from '@gateway/store/fleet/lease-keeper';
import { dropAbandonedSends } from '@gateway/store/sends/accepting/accept-send';
import { eraseSpentOtps, expireSends, hasDueSends } from '@gateway/store/sends/change-send';

export interface SweeperDeps {
  store: Store;
  keeper: LeaseKeeper;
  producer: Producer;
  clock: Clock;
  logger: Logger;
  workspace: Workspace;
}

const SWEEP_EVERY_MS = 15_000;

/**
 * Looks after devices without an owner, such as those that were logged out with sends still queued: it takes the lease
 * without opening a socket, ends what is over, and gives it back at once. Returns what stops it.
 */
export function startSweeper(deps: SweeperDeps): () => Promise<void> {
  let running: Promise<void> | undefined;
  let stopped = false;
  const timer = setInterval(() => {
    // One at a time, however slow Redis is.
    running ??= sweep(deps, () => stopped)
      .catch((thrown: unknown) => deps.logger.warn('sweep failed', { error: toError(thrown) }))
      .finally(() => {
        running = undefined;
      });
  }, SWEEP_EVERY_MS);
  return async () => {
    stopped = true;
    clearInterval(timer);
    await running;
  };
}

/** One round over all devices of the workspace. What goes wrong with one device does not keep the others waiting. */
export async function sweep(deps: SweeperDeps, isStopped = () => false): Promise<void> {
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

async function sweepDevice({ store, keeper, producer, clock }: SweeperDeps, address: DeviceAddress): Promise<void> {
  const lease = await keeper.acquire(address);
  // Somebody holds it: an owner does all this on its own ticks.
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
