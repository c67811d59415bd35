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
export function announceGroup(network: Network, news: News, to: Iterable<string>): void {
  post(network, 'w:gp2', news, to);
}

/** Tells all members' clients that the group shows another picture, or none any more. */
export function announceGroupPicture(network: Network, group: Group, by: string): void {
  const author = network.directory.jidOf(by, 'lid');
  const change = group.picture ? node('set', { id: '1', author }) : node('delete', { author });
  post(network, 'picture', { group, by, change }, group.members.keys());
}

function post(network: Network, type: string, { group, by, change }: News, to: Iterable<string>): void {
  const { directory, accounts, now } = network;
  lastNotice += 1;
  const author = { participant: directory.jidOf(by, 'lid'), participant_pn: directory.jidOf(by, 'pn') };
  const attrs = { from: group.jid, type, id: `group-${lastNotice}`, t: stamp(now()), addressing_mode: 'lid' };
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
