import type { DeviceAddress, Workspace } from '@gateway/contracts/ids';
import { isPlausible, platformIds } from '@gateway/contracts/sends/platform-id';
import type { Store } from '../../core/store.js';
import { listDevices, readIdKey } from '../../devices/devices.js';
import { readSendByTag } from '../read-send.js';
import type { FoundRecipient } from './find-recipient.js';

/**
 * The recipient whose message has this id in the network and on phones: one, or none. The id says it by itself to the device that
 * made it, so each device of the workspace is asked, and the record of a send for one in 14 of them.
 * @param networkId as a phone or the network has it, in upper case.
 */
export async function findByNetworkId(
  store: Store,
  workspace: Workspace,
  networkId: string,
): Promise<FoundRecipient[]> {
  const devices = await listDevices(store, workspace);
  const found = await Promise.all(devices.map((device) => findOn(store, { workspace, device }, networkId)));
  return found.filter((recipient) => recipient !== undefined);
}

async function findOn(store: Store, address: DeviceAddress, networkId: string): Promise<FoundRecipient | undefined> {
  // A device whose key this process cannot open is one that it can say nothing about.
  const key = await readIdKey(store, address).catch(() => undefined);
  const parts = key && platformIds(key).parse(networkId);
  if (!parts || !isPlausible(parts)) return undefined;
  const { tag, recipient } = parts;
  const send = await readSendByTag(store, address, tag);
  return send && recipient < send.total ? { address, send, recipient } : undefined;
}
