import { announceDevices } from '../announcements/announce-devices.js';
import type { Network } from '../network/network.js';

/**
 * Removes a linked client: its connection ends with 401, its next login is refused. False when there is no such device.
 * @param options.farewellMs how much longer its connection stays.
 */
export function unlinkDevice(
  network: Network,
  number: string,
  deviceId: number,
  { farewellMs = 0 }: { farewellMs?: number } = {},
): boolean {
  const account = network.accounts.find(number);
  const device = account?.devices.get(deviceId);
  if (!account || !device) return false;
  account.devices.delete(deviceId);
  network.counters.unlinkedDevices += 1;
  device.mailbox.clear();
  const { connection } = device;
  if (farewellMs === 0) connection?.unlink();
  else setTimeout(() => connection?.unlink(), farewellMs).unref();
  announceDevices(network, account, 'remove', device);
  return true;
}
