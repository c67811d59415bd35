import { announceGroup, announceMembership } from '../groups/announce-group.js';
import type { Group } from '../groups/group.js';
import { groupNode, participantNode } from '../groups/group-node.js';
import { newInviteCode } from '../groups/group-registry.js';
import { type BinaryNode, childNamed, childrenNamed, childrenOf, node, textOf } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

/** What a change of a group answers, or the code of its refusal. */
type Outcome = BinaryNode[] | number;
type GroupChange = (server: Server, client: Client, group: Group, change: BinaryNode) => Outcome;

const FORBIDDEN = 403;
const NOT_FOUND = 404;

/** Groups: create, look up, join, and change; the changes are in the table below. */
export function answerGroups(server: Server, client: Client, query: BinaryNode): void {
  const outcome = query.attrs.to === '@g.us' ? answerAll(server, client, query) : answerOne(server, client, query);
  if (Array.isArray(outcome)) client.session.reply(query, outcome);
  else client.session.replyError(query, outcome, outcome === FORBIDDEN ? 'forbidden' : 'item-not-found');
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
  const { number } = client.device;
  const group = groups.create(number, ask.attrs.subject ?? '', now());
  for (const each of numbersIn(server, ask)) group.members.set(each, undefined);
  announceMembership(server.network, group, number, group.members.keys(), client.device);
  return [groupNode(directory, group)];
}

function leave(server: Server, { device }: Client, ask: BinaryNode): Outcome {
  const { groups, directory } = server.network;
  const ids = childrenNamed(ask, 'group').map(({ attrs }) => attrs.id ?? '');
  for (const id of ids) {
    const group = groups.find(id);
    if (!group?.members.has(device.number)) continue;
    const change = node('remove', {}, [participantNode(directory, device.number)]);
    announceGroup(server.network, { group, by: device.number, change }, group.members.keys(), device);
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
    return [node(ask.tag)];
  }
  const change = CHANGES[ask.tag];
  if (!change) return NOT_FOUND;
  return mayChange(group, number, ask.tag) ? change(server, client, group, ask) : FORBIDDEN;
}

/** Everybody may rename an unlocked group and, where it says so, add people; the rest is for admins. */
function mayChange(group: Group, number: string, change: string): boolean {
  if (group.isAdmin(number)) return true;
  if (change === 'add') return group.memberAddMode === 'all_member_add';
  return ['subject', 'description', 'ephemeral', 'not_ephemeral'].includes(change) && !group.switches.has('locked');
}

const CHANGES: Record<string, GroupChange> = {
  add: addMembers,
  remove: removeMembers,
  promote: setRole('admin'),
  demote: setRole(undefined),
  subject: changeSubject,
  description: changeDescription,
  invite: renewInvite,
  announcement: turnOn('announcement'),
  not_announcement: turnOff('announcement'),
  locked: turnOn('locked'),
  unlocked: turnOff('locked'),
  ephemeral: changeEphemeral,
  not_ephemeral: changeEphemeral,
  member_add_mode: (server, client, group, change) => {
    group.memberAddMode = textOf(change) ?? group.memberAddMode;
    return tell(server, client, group, change);
  },
  membership_approval_mode: (server, client, group, change) => {
    group.joinApproval = childNamed(change, 'group_join')?.attrs.state === 'on';
    return tell(server, client, group, change);
  },
};

function addMembers(server: Server, client: Client, group: Group, change: BinaryNode): Outcome {
  const { directory } = server.network;
  const before = [...group.members.keys()];
  const asked = numbersIn(server, change);
  const added = asked.filter((number) => directory.exists(number) && !group.members.has(number));
  for (const number of added) group.members.set(number, undefined);
  const news = node(
    'add',
    {},
    added.map((number) => participantNode(directory, number)),
  );
  announceGroup(server.network, { group, by: client.device.number, change: news }, before, client.device);
  announceMembership(server.network, group, client.device.number, added);
  const errorOf = (number: string) => (added.includes(number) ? undefined : before.includes(number) ? '409' : '404');
  return [
    node(
      'add',
      {},
      asked.map((number) => participantNode(directory, number, { error: errorOf(number) })),
    ),
  ];
}

function removeMembers(server: Server, client: Client, group: Group, change: BinaryNode): Outcome {
  const { directory } = server.network;
  const asked = numbersIn(server, change);
  const removed = asked.filter((number) => group.members.has(number));
  const news = node(
    'remove',
    {},
    removed.map((number) => participantNode(directory, number)),
  );
  announceGroup(
    server.network,
    { group, by: client.device.number, change: news },
    [...group.members.keys()],
    client.device,
  );
  for (const number of removed) group.members.delete(number);
  const errorOf = (number: string) => (removed.includes(number) ? undefined : '404');
  return [
    node(
      'remove',
      {},
      asked.map((number) => participantNode(directory, number, { error: errorOf(number) })),
    ),
  ];
}

function setRole(role: 'admin' | undefined): GroupChange {
  return (server, client, group, change) => {
    const { directory } = server.network;
    const asked = numbersIn(server, change);
    const members = asked.filter((number) => group.members.has(number) && group.members.get(number) !== 'superadmin');
    for (const number of members) group.members.set(number, role);
    const news = node(
      change.tag,
      {},
      members.map((number) => participantNode(directory, number)),
    );
    announceGroup(
      server.network,
      { group, by: client.device.number, change: news },
      group.members.keys(),
      client.device,
    );
    const errorOf = (number: string) => (members.includes(number) ? undefined : '404');
    return [
      node(
        change.tag,
        {},
        asked.map((number) => participantNode(directory, number, { error: errorOf(number) })),
      ),
    ];
  };
}

function changeSubject(server: Server, client: Client, group: Group, change: BinaryNode): Outcome {
  group.subject = textOf(change) ?? group.subject;
  group.subjectOwner = client.device.number;
  group.subjectAtMs = server.network.now();
  return tell(server, client, group, node('subject', { subject: group.subject }));
}

function changeDescription(server: Server, client: Client, group: Group, change: BinaryNode): Outcome {
  const text = textOf(childNamed(change, 'body'));
  const about = { id: change.attrs.id ?? '', by: client.device.number, atMs: server.network.now() };
  group.description = text === undefined ? undefined : { ...about, text };
  return tell(server, client, group, change);
}

function changeEphemeral(server: Server, client: Client, group: Group, change: BinaryNode): Outcome {
  group.ephemeralSeconds = Number(change.attrs.expiration ?? 0);
  return tell(server, client, group, change);
}

function renewInvite(server: Server, client: Client, group: Group): Outcome {
  group.inviteCode = newInviteCode();
  const invite = node('invite', { code: group.inviteCode });
  tell(server, client, group, invite);
  return [invite];
}

function turnOn(name: string): GroupChange {
  return (server, client, group, change) => {
    group.switches.add(name);
    return tell(server, client, group, change);
  };
}

function turnOff(name: string): GroupChange {
  return (server, client, group, change) => {
    group.switches.delete(name);
    return tell(server, client, group, change);
  };
}

function tell(server: Server, client: Client, group: Group, change: BinaryNode): Outcome {
  announceGroup(server.network, { group, by: client.device.number, change }, group.members.keys(), client.device);
  return [];
}

function numbersIn(server: Server, parent: BinaryNode): string[] {
  const { directory } = server.network;
  return childrenNamed(parent, 'participant').flatMap(({ attrs }) => directory.resolve(attrs.jid)?.number ?? []);
}
