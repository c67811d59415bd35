import { paceDurationMs } from '@gateway/contracts/devices/pace';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { readDevice } from '@gateway/store/devices/devices';
import { readBacklog } from '@gateway/store/sends/read-send';
import type { ApiDeps } from '../api-deps.js';

/**
 * When a device will have sent `messages` more, by its pace and backlog: ms since 1970. An estimate for
 * people, and for refusing sends that could not finish in time.
 */
export async function estimateFinishMs(
  { store, defaultPace, clock }: Pick<ApiDeps, 'store' | 'defaultPace' | 'clock'>,
  address: DeviceAddress,
  messages: number,
): Promise<number> {
  const [device, backlog] = await Promise.all([readDevice(store, address), readBacklog(store, address)]);
  return clock.nowMs() + paceDurationMs(device?.pace ?? defaultPace, backlog.messages + messages);
}
