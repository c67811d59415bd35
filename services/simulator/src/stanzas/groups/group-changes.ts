import { announceGroup, announceMembership } from '../../announcements/announce-group.js';
import type { Group } from '../../groups/group.js';
import { participantNode } from '../../groups/group-node.js';
import { newInviteCode } from '../../groups/group-registry.js';
import { type BinaryNode, childNamed, node, textOf } from '../../wire/nodes.js';
import type { Client, Server } from '../stanza-context.js';
import { numbersIn, type Outcome } from './group-outcome.js';
import { decideRequests } from './membership-requests.js';

type GroupChange = (server: Server, client: Client, group: Group, change: BinaryNode) => Outcome;

/** What members may do to a group, by the name of the node that asks for it. Whether they may was decided before. */
export const GROUP_CHANGES: Record<string, GroupChange> = {
  add: addMembers,
  remove: removeMembers,
  promote: setRole('admin'),
  demote: setRole(undefined),
  subject: changeSubject,
  description: changeDescription,
  invite: renewInvite,
  membership_requests_action: decideRequests,
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
  announceGroup(server.network, { group, by: client.device.number, change: news }, before);
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
  announceGroup(server.network, { group, by: client.device.number, change: news }, [...group.members.keys()]);
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
    announceGroup(server.network, { group, by: client.device.number, change: news }, group.members.keys());
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
  announceGroup(server.network, { group, by: client.device.number, change }, group.members.keys());
  return [];
}
