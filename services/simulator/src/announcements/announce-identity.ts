import type { Network } from '../network/network.js';
import { node, stamp } from '../wire/nodes.js';

/** Tells the clients of everybody who talks with a person that the person's identity key is another one now. */
export function announceIdentity(network: Network, number: string): void {
  const { accounts, directory, now } = network;
  const head = { from: directory.jidOf(number, 'pn'), lid: directory.jidOf(number, 'lid'), type: 'encrypt' };
  const notice = node('notification', { ...head, id: `identity-${number}-${now()}`, t: stamp(now()) }, [
    node('identity'),
  ]);
  for (const account of accounts.all()) {
    if (!account.contacts.has(number)) continue;
    for (const device of account.devices.values()) device.mailbox.post(notice);
  }
}
