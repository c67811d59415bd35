import type { Group } from '../groups/group.js';
import { groupNode } from '../groups/group-node.js';
import type { Network } from '../network/network.js';
import { type BinaryNode, node, stamp } from '../wire/nodes.js';

interface News {
  readonly group: Group;
  /** Number of who did it. */
  readonly by: string;
  readonly change: BinaryNode;
}

let lastNotice = 0;

/** Tells the linked clients of some members what changed, the client that did it among them. */
export function announceGroup(network: Network, { group, by, change }: News, to: Iterable<string>): void {
  const { directory, accounts, now } = network;
  lastNotice += 1;
  const author = { participant: directory.jidOf(by, 'lid'), participant_pn: directory.jidOf(by, 'pn') };
  const attrs = { from: group.jid, type: 'w:gp2', id: `group-${lastNotice}`, t: stamp(now()), addressing_mode: 'lid' };
  const notice = node('notification', { ...attrs, ...author, notify: accounts.find(by)?.pushName }, [change]);
  for (const number of to) {
    for (const device of accounts.find(number)?.devices.values() ?? []) device.mailbox.post(notice);
  }
}

/** "You are in a group now": for its members at the start, and for everyone who is added later. */
export function announceMembership(network: Network, group: Group, by: string, to: Iterable<string>): void {
  const change = node('create', { type: 'new' }, [groupNode(network.directory, group)]);
  announceGroup(network, { group, by, change }, to);
}
