import type { Directory } from '../directory/directory.js';
import { type BinaryNode, node, stamp } from '../wire/nodes.js';
import type { Group } from './group.js';

/** Groups name their members by hidden identifier, with the number beside it. */
export function participantNode(
  directory: Directory,
  number: string,
  attrs: Record<string, string | undefined> = {},
): BinaryNode {
  const names = { jid: directory.jidOf(number, 'lid'), phone_number: directory.jidOf(number, 'pn') };
  return node('participant', { ...names, ...attrs });
}

/** The `group` node: all that a client learns about a group. */
export function groupNode(directory: Directory, group: Group): BinaryNode {
  const { id, subject, creator, subjectOwner, members } = group;
  const attrs = {
    id,
    subject,
    s_o: directory.jidOf(subjectOwner, 'lid'),
    s_o_pn: directory.jidOf(subjectOwner, 'pn'),
    s_t: stamp(group.subjectAtMs),
    creation: stamp(group.createdAtMs),
    creator: directory.jidOf(creator, 'lid'),
    creator_pn: directory.jidOf(creator, 'pn'),
    addressing_mode: 'lid',
    size: String(members.size),
  };
  const participants = [...members].map(([number, type]) => participantNode(directory, number, { type }));
  return node('group', attrs, [...participants, ...settingNodes(directory, group)]);
}

function settingNodes(directory: Directory, group: Group): BinaryNode[] {
  const nodes = [...group.switches].map((name) => node(name));
  const { description, ephemeralSeconds, joinApproval } = group;
  if (description) {
    const { id, text, by, atMs } = description;
    const head = {
      id,
      t: stamp(atMs),
      participant: directory.jidOf(by, 'lid'),
      participant_pn: directory.jidOf(by, 'pn'),
    };
    nodes.push(node('description', head, [node('body', {}, Buffer.from(text))]));
  }
  if (ephemeralSeconds > 0) nodes.push(node('ephemeral', { expiration: String(ephemeralSeconds) }));
  if (joinApproval) nodes.push(node('membership_approval_mode', {}, [node('group_join', { state: 'on' })]));
  nodes.push(node('member_add_mode', {}, Buffer.from(group.memberAddMode)));
  return nodes;
}
