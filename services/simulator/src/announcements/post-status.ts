import { randomBytes } from 'node:crypto';
import type { LinkedDevice } from '../accounts/linked-device.js';
import type { Network } from '../network/network.js';
import { type BinaryNode, node, stamp } from '../wire/nodes.js';

const STATUS = 'status@broadcast';

export interface StatusUpdate {
  readonly from: string;
  readonly to: string;
  readonly text: string;
  /** Encrypted with a key that no device was given. */
  readonly isUndecryptable: boolean;
  /** Since July 2026 status updates come as stanzas of their own; before, as messages. */
  readonly tag: 'status' | 'message';
}

/** A person's status update, for all clients of one account. Answers its id. */
export async function postStatus(network: Network, update: StatusUpdate): Promise<string> {
  const id = randomBytes(16).toString('hex').toUpperCase();
  for (const device of network.accounts.find(update.to)?.devices.values() ?? []) {
    const content = await sealed(network, update, device);
    device.mailbox.post(statusNode(network, update, id, content));
  }
  return id;
}

async function sealed(network: Network, update: StatusUpdate, device: LinkedDevice): Promise<BinaryNode> {
  if (update.isUndecryptable) return node('enc', { v: '2', type: 'skmsg' }, randomBytes(96));
  const phone = network.phones.phone(update.from);
  const message = { extendedTextMessage: { text: update.text } };
  const content = await phone.inTurn(() => phone.encrypt(device.number, device.id, message, () => device.takeBundle()));
  return node('enc', { v: '2', type: content.type }, content.bytes);
}

function statusNode(network: Network, { from, tag }: StatusUpdate, id: string, content: BinaryNode): BinaryNode {
  const { accounts, directory, now } = network;
  const participant = directory.jidOf(from, 'lid');
  const notify = accounts.ensure(from).pushName;
  return node(tag, { id, from: STATUS, participant, type: 'text', notify, t: stamp(now()) }, [content]);
}
