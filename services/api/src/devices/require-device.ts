import { deriveStatus } from '@gateway/contracts/devices/device-state';
import { ApiError } from '@gateway/runtime/errors';
import type { DeviceState } from '@gateway/store/devices/device-state';
import type { Call } from '../http/endpoint.js';

/**
 * Check 7: an account must be linked. One whose session is being restored counts: accepted messages go out when it
 * is back. Returns the account for which messages are accepted.
 */
export async function requireLinkedDevice(
  call: Pick<Call<unknown, unknown>, 'readState'>,
): Promise<Pick<DeviceState, 'accountEpoch'>> {
  const { desired, observed, isOwned, accountEpoch } = await call.readState();
  const linked = desired?.want === 'linked' && deriveStatus(desired, observed, isOwned).status !== 'disconnected';
  if (!linked) throw new ApiError('no_device');
  return { accountEpoch };
}
