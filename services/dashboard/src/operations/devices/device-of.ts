import { type DeviceId, isDeviceId } from '@gateway/contracts/ids';
import { ConsoleError } from '../../http/console-error.js';

/** The device that the path of a request names. */
export function deviceOf({ device = '' }: Record<string, string>): DeviceId {
  if (!isDeviceId(device)) throw new ConsoleError('not_found');
  return device;
}
