import { announceGroup, announceMembership } from '../../announcements/announce-group.js';
import type { Group } from '../../groups/group.js';
import { participantNode } from '../../groups/group-node.js';
import { type BinaryNode, childrenOf, node, stamp } from '../../wire/nodes.js';
import type { Client, Server } from '../stanza-context.js';
import { numbersIn, type Outcome } from './group-outcome.js';

/** A person follows an invitation to a group whose admins decide who comes in: the admins are told, the person waits. */
export function requestMembership({ network }: Server, number: string, group: Group): Outcome {
  group.requests.set(number, network.now());
  const person = participantNode(network.directory, number);
  const change = node('created_membership_requests', { request_method: 'invite_link' }, [person]);
  announceGroup(network, { group, by: number, change }, adminsOf(group));
  return [node('membership_approval_request', { jid: group.jid })];
}

/** Who waits to be let in; for admins. */
export function listRequests({ network: { directory } }: Server, group: Group): BinaryNode {
  const waiting = [...group.requests].map(([number, atMs]) => {
    const names = { jid: directory.jidOf(number, 'lid'), phone_number: directory.jidOf(number, 'pn') };
    return node('membership_approval_request', { ...names, request_method: 'InviteLink', request_time: stamp(atMs) });
  });
  return node('membership_approval_requests', {}, waiting);
}

/** An admin lets people in, or does not. */
export function decideRequests(server: Server, client: Client, group: Group, action: BinaryNode): Outcome {
  const { network } = server;
  const by = client.device.number;
  const answers = childrenOf(action).map((decision) => {
    const asked = numbersIn(server, decision);
    const decided = asked.filter((number) => group.requests.delete(number));
    if (decision.tag === 'approve') admit(server, by, group, decided);
    else for (const number of decided) tellRejected(server, by, group, number);
    const errorOf = (number: string) => (decided.includes(number) ? undefined : '404');
    const people = asked.map((number) => participantNode(network.directory, number, { error: errorOf(number) }));
    return node(decision.tag, {}, people);
  });
  return [node(action.tag, {}, answers)];
}

function admit({ network }: Server, by: string, group: Group, numbers: readonly string[]): void {
  const before = [...group.members.keys()];
  for (const number of numbers) group.members.set(number, undefined);
  const people = numbers.map((number) => participantNode(network.directory, number));
  if (numbers.length === 0) return;
  announceGroup(network, { group, by, change: node('add', { reason: 'invite' }, people) }, before);
  announceMembership(network, group, by, numbers);
}

function tellRejected({ network }: Server, by: string, group: Group, number: string): void {
  const change = node('revoked_membership_requests', {}, [participantNode(network.directory, number)]);
  announceGroup(network, { group, by, change }, [...adminsOf(group), number]);
}

function adminsOf(group: Group): string[] {
  return [...group.members.keys()].filter((number) => group.isAdmin(number));
}
