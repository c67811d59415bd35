import type { DeviceChange, DeviceStatus, Reason } from '@gateway/contracts/devices/device-state';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import type { Store } from '../core/store.js';

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
    id,
    atMs: Number.parseInt(id, 10),
    status: status as DeviceStatus,
    ...(reason && { reason: reason as Reason }),
  }));
}
