import { type Pace, paceDurationMs } from '@gateway/contracts/devices/pace';
import type { Clock } from '@gateway/runtime/clock';
import type { DeviceState } from '../devices/device-state.js';

/**
 * When a device will have sent `messages` more, by its pace and backlog: ms since 1970. An estimate for
 * people, and for refusing sends that could not finish in time.
 */
export function estimateFinishMs(
  { pace, waitingMessages }: Pick<DeviceState, 'pace' | 'waitingMessages'>,
  messages: number,
  { defaultPace, clock }: { defaultPace: Pace; clock: Pick<Clock, 'nowMs'> },
): number {
  return clock.nowMs() + paceDurationMs(pace ?? defaultPace, waitingMessages + messages);
}
