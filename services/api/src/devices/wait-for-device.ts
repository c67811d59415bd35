import type { DeviceAddress } from '@gateway/contracts/ids';
import { type Wait, waitFor } from '@gateway/store/core/wait-for';
import { type DeviceState, readDeviceState } from '@gateway/store/devices/device-state';
import type { ApiDeps } from '../api-deps.js';

export interface DeviceWait<Found> extends Pick<Wait<Found>, 'timeoutMs' | 'signal'> {
  /** Called with each state until it returns a result. If it throws, the wait ends. */
  look(state: DeviceState): Found | undefined;
}

/** Waits until a device's owner has stored what the caller waits for; ends as `waitFor` does. */
export async function waitForDevice<Found>(
  deps: Pick<ApiDeps, 'store' | 'doorbells' | 'clock'>,
  address: DeviceAddress,
  { look, ...wait }: DeviceWait<Found>,
): Promise<Found | undefined> {
  return waitFor(deps, address, {
    ...wait,
    topics: ['observed', 'desired'],
    look: async () => look(await readDeviceState(deps.store, address)),
  });
}
