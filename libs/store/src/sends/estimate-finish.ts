import { type Pace, paceDurationMs } from '@gateway/contracts/devices/pace';
import type { DeviceAddress } from '@gateway/contracts/ids';
import type { Clock } from '@gateway/runtime/clock';
import type { Store } from '../core/store.js';
import { readDevice } from '../devices/devices.js';
import { readBacklog } from './read-send.js';

/**
 * When a device will have sent `messages` more, by its pace and backlog: ms since 1970. An estimate for
 * people, and for refusing sends that could not finish in time.
 */
export async function estimateFinishMs(
  { store, defaultPace, clock }: { store: Store; defaultPace: Pace; clock: Pick<Clock, 'nowMs'> },
  address: DeviceAddress,
  messages: number,
): Promise<number> {
  const [device, backlog] = await Promise.all([readDevice(store, address), readBacklog(store, address)]);
  return clock.nowMs() + paceDurationMs(device?.pace ?? defaultPace, backlog.messages + messages);
}
