import type { ObservedState, Reason } from '@gateway/contracts/devices/device-state';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import type { Store } from '../core/store.js';

/** What the owner of a device observed from then on. */
export interface DeviceChange {
  atMs: number;
  status: ObservedState['status'];
  reason?: Reason;
}

const MOST_CHANGES = 500;

/** The last changes of status or reason, the newest first, 500 at most. */
export async function readHistory(
  store: Store,
  address: DeviceAddress,
  limit: number = MOST_CHANGES,
): Promise<DeviceChange[]> {
  const { history } = deviceKeys(store.space, address);
  const rows = await store.redis.xrevrange(history, '+', '-', 'COUNT', Math.min(limit, MOST_CHANGES));
  return rows.map(([id, [, status, , reason]]) => ({
    atMs: Number.parseInt(id, 10),
    status: status as ObservedState['status'],
    ...(reason && { reason: reason as Reason }),
  }));
}
