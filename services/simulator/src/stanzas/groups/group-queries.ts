import { announceGroup, announceMembership } from '../../announcements/announce-group.js';
import type { Group } from '../../groups/group.js';
import { groupNode, participantNode } from '../../groups/group-node.js';
import { type BinaryNode, childrenNamed, childrenOf, node } from '../../wire/nodes.js';
import type { Client, Server } from '../stanza-context.js';
import { GROUP_CHANGES } from './group-changes.js';
import { numbersIn, type Outcome } from './group-outcome.js';
import { listRequests, requestMembership } from './membership-requests.js';

const FORBIDDEN = 403;
const NOT_FOUND = 404;
const NOT_IMPLEMENTED = 501;

/** Clients write the name of the server with and without the sign that separates a user from it. */
const ALL_GROUPS = new Set(['@g.us', 'g.us']);

const REFUSALS: Record<number, string> = {
  [FORBIDDEN]: 'forbidden',
  [NOT_FOUND]: 'item-not-found',
  [NOT_IMPLEMENTED]: 'feature-not-implemented',
};

/** Groups: create, look up, join, and change; the changes are in `group-changes.ts`. */
export function answerGroups(server: Server, client: Client, query: BinaryNode): void {
  const outcome = ALL_GROUPS.has(query.attrs.to ?? '')
    ? answerAll(server, client, query)
    : answerOne(server, client, query);
  if (Array.isArray(outcome)) client.session.reply(query, outcome);
  else client.session.replyError(query, outcome, REFUSALS[outcome] ?? 'not-acceptable');
}

function answerAll(server: Server, client: Client, query: BinaryNode): Outcome {
  const { groups, directory } = server.network;
  const [ask] = childrenOf(query);
  switch (ask?.tag) {
    case 'participating': {
      const mine = groups.ofMember(client.device.number).map((group) => groupNode(directory, group));
      return [node('groups', {}, mine)];
    }
    case 'create':
      return create(server, client, ask);
    case 'leave':
      return leave(server, client, ask);
    case 'invite':
      return answerInvite(server, client, query, ask);
    default:
      return NOT_FOUND;
  }
}

function create(server: Server, client: Client, ask: BinaryNode): Outcome {
  const { groups, directory, now } = server.network;
  if (isAboutCommunities(ask)) return NOT_IMPLEMENTED;
  const { number } = client.device;
  const group = groups.create(number, ask.attrs.subject ?? '', now());
  for (const each of numbersIn(server, ask)) if (directory.exists(each)) group.members.set(each, undefined);
  announceMembership(server.network, group, number, group.members.keys());
  return [groupNode(directory, group)];
}

/** Groups of groups are not modelled. */
function isAboutCommunities(ask: BinaryNode): boolean {
  return childrenOf(ask).some(({ tag }) => tag === 'parent' || tag === 'linked_parent' || tag === 'community');
}

function leave(server: Server, { device }: Client, ask: BinaryNode): Outcome {
  const { groups, directory } = server.network;
  if (isAboutCommunities(ask)) return NOT_IMPLEMENTED;
  const ids = childrenNamed(ask, 'group').map(({ attrs }) => attrs.id ?? '');
  for (const id of ids) {
    const group = groups.find(id);
    if (!group?.members.has(device.number)) continue;
    const change = node('remove', {}, [participantNode(directory, device.number)]);
    announceGroup(server.network, { group, by: device.number, change }, group.members.keys());
    group.members.delete(device.number);
  }
  return [
    node(
      'leave',
      {},
      ids.map((id) => node('group', { id })),
    ),
  ];
}

/** With `get` a stranger sees what an invitation leads to, with `set` he joins. */
function answerInvite(server: Server, client: Client, query: BinaryNode, ask: BinaryNode): Outcome {
  const { groups, directory } = server.network;
  const group = groups.findByInvite(ask.attrs.code);
  if (!group) return NOT_FOUND;
  if (query.attrs.type === 'get') return [groupNode(directory, group)];
  if (group.joinApproval && !group.members.has(client.device.number)) {
    return requestMembership(server, client.device.number, group);
  }
  join(server, client, group);
  return [node('group', { jid: group.jid })];
}

function join(server: Server, { device }: Client, group: Group): void {
  const { network } = server;
  if (group.members.has(device.number)) return;
  const before = [...group.members.keys()];
  group.members.set(device.number, undefined);
  const change = node('add', { reason: 'invite' }, [participantNode(network.directory, device.number)]);
  announceGroup(network, { group, by: device.number, change }, before);
  announceMembership(network, group, device.number, [device.number]);
}

function answerOne(server: Server, client: Client, query: BinaryNode): Outcome {
  const { groups, directory } = server.network;
  const group = groups.find(query.attrs.to);
  const { number } = client.device;
  if (!group) return NOT_FOUND;
  if (!group.members.has(number)) return FORBIDDEN;
  const [ask] = childrenOf(query);
  if (!ask) return NOT_FOUND;
  if (query.attrs.type === 'get') {
    if (ask.tag === 'query') return [groupNode(directory, group)];
    if (ask.tag === 'invite') return [node('invite', { code: group.inviteCode })];
    if (ask.tag === 'membership_approval_requests') {
      return group.isAdmin(number) ? [listRequests(server, group)] : FORBIDDEN;
    }
    return [node(ask.tag)];
  }
  const change = GROUP_CHANGES[ask.tag];
  if (!change) return NOT_FOUND;
  return mayChange(group, number, ask.tag) ? change(server, client, group, ask) : FORBIDDEN;
}

/** Everybody may rename an unlocked group and, where it says so, add people; the rest is for admins. */
function mayChange(group: Group, number: string, change: string): boolean {
  if (group.isAdmin(number)) return true;
  if (change === 'add') return group.memberAddMode === 'all_member_add';
  return ['subject', 'description', 'ephemeral', 'not_ephemeral'].includes(change) && !group.switches.has('locked');
}
