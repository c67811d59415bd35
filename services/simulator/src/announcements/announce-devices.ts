import { createHash } from 'node:crypto';
import type { Account } from '../accounts/account.js';
import type { LinkedDevice } from '../accounts/linked-device.js';
import type { Network } from '../network/network.js';
import { node, stamp } from '../wire/nodes.js';

/** Tells the account's other clients, and the clients of those it talks with, that its list of devices changed. */
export function announceDevices(
  network: Network,
  account: Account,
  change: 'add' | 'remove',
  device: LinkedDevice,
): void {
  const { directory, now } = network;
  const jid = directory.jidOf(account.number, 'pn', device.id);
  const ids = [0, ...account.devices.keys()].join(',');
  const deviceHash = `2:${createHash('sha256').update(ids).digest('base64').slice(0, 6)}`;
  const child = node(change, { device_hash: deviceHash }, [
    node('device', { jid, 'key-index': String(device.keyIndex) }),
  ]);
  const head = { from: directory.jidOf(account.number, 'pn'), lid: directory.jidOf(account.number, 'lid') };
  const attrs = { ...head, type: 'devices', id: `devices-${device.id}-${change}-${now()}`, t: stamp(now()) };
  const told = [account, ...[...account.contacts].flatMap((number) => network.accounts.find(number) ?? [])];
  for (const other of told) {
    for (const client of other.devices.values()) {
      if (client !== device) client.mailbox.post(node('notification', attrs, [child]));
    }
  }
}
