import type { Account } from '../accounts/account.js';
import type { Group } from '../groups/group.js';
import type { Network } from '../network/network.js';
import type { CipherType } from '../phones/phone.js';
import { type BinaryNode, childNamed, childrenNamed, childrenOf, without } from '../wire/nodes.js';
import type { DevicePlace, SealedContent } from './envelope.js';

const STATUS = 'status@broadcast';
const ENVELOPE_OF_CONTENT = new Set(['type', 'v']);

/** The forms of one message for one device. */
export interface Addressed {
  readonly place: DevicePlace;
  readonly jid: string;
  readonly contents: readonly SealedContent[];
}

/** A message as a client handed it in. */
export interface Outgoing {
  readonly stanza: BinaryNode;
  readonly id: string;
  readonly to: string;
  /** Number of the person, or jid of the group. */
  readonly recipient: string;
  readonly group: Group | undefined;
  /** The sender's status: those who are listed may read it. */
  readonly broadcast: boolean;
  /** Sent again to one device that asked for it. */
  readonly resend: boolean;
  /** Devices that the sender encrypted for one by one. */
  readonly targets: readonly Addressed[];
  /** The form that all members of a group can read. */
  readonly shared: readonly SealedContent[];
}

/** Takes a message stanza apart; undefined when it is malformed. */
export function readOutgoing(network: Network, stanza: BinaryNode): Outgoing | undefined {
  const { id, to, participant } = stanza.attrs;
  const group = network.groups.find(to);
  const broadcast = to === STATUS;
  const recipient = network.directory.resolve(to)?.number ?? (broadcast || to?.endsWith('@g.us') ? to : undefined);
  if (!id || !to || !recipient) return undefined;
  const direct = sealedContents(stanza);
  const listed = childrenNamed(childNamed(stanza, 'participants'), 'to').map((each) => ({
    jid: each.attrs.jid ?? '',
    contents: sealedContents(each),
  }));
  const shared = direct.filter(({ type }) => type === 'skmsg');
  const single = direct.filter(({ type }) => type !== 'skmsg');
  const all = single.length > 0 ? [{ jid: participant ?? to, contents: single }, ...listed] : listed;
  const targets = all.flatMap(({ jid, contents }) => {
    const place = network.directory.resolve(jid);
    return place && contents.length > 0 ? [{ jid, contents, place }] : [];
  });
  if (targets.length < all.length) return undefined;
  return { stanza, id, to, recipient, group, broadcast, resend: single.length > 0, targets, shared };
}

function sealedContents(parent: BinaryNode): SealedContent[] {
  const contents: SealedContent[] = [];
  for (const enc of childrenOf(parent)) {
    const { type } = enc.attrs;
    if (enc.tag !== 'enc' || !isCipherType(type) || !(enc.content instanceof Uint8Array)) continue;
    contents.push({ type, attrs: without(enc.attrs, ENVELOPE_OF_CONTENT), bytes: enc.content });
  }
  return contents;
}

function isCipherType(type: string | undefined): type is CipherType {
  return type === 'pkmsg' || type === 'msg' || type === 'skmsg';
}

/** Every device of these people but one. */
export function devicesOf(network: Network, numbers: Iterable<string>, except: DevicePlace): DevicePlace[] {
  const idsOf = (account: Account | undefined) => [0, ...(account?.devices.keys() ?? [])];
  return [...numbers]
    .flatMap((number) => idsOf(network.accounts.find(number)).map((device) => ({ number, device })))
    .filter(({ number, device }) => number !== except.number || device !== except.device);
}
