import { deriveStatus } from '@gateway/contracts/devices/device-state';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { ApiError } from '@gateway/runtime/errors';
import type { Store } from '@gateway/store/core/store';
import { type DeviceState, readDeviceState } from '@gateway/store/devices/device-state';

/**
 * Check 7: an account must be linked. One whose session is being restored counts: accepted messages go out when it
 * is back. Returns the account for which messages are accepted.
 */
export async function requireLinkedDevice(
  store: Store,
  address: DeviceAddress,
): Promise<Pick<DeviceState, 'accountEpoch'>> {
  const { desired, observed, isOwned, accountEpoch } = await readDeviceState(store, address);
  const linked = desired?.want === 'linked' && deriveStatus(desired, observed, isOwned).status !== 'disconnected';
  if (!linked) throw new ApiError('no_device');
  return { accountEpoch };
}
