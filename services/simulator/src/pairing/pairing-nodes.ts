import { proto } from '@whiskeysockets/baileys';
import type { Account } from '../accounts/account.js';
import type { Network } from '../network/network.js';
import { type BinaryNode, node, SERVER, stamp } from '../wire/nodes.js';
import { passkeyOptionsNode } from './passkey-node.js';

/** The codes that a client may show, one after the other. */
export function pairDeviceNode(id: string, refs: readonly string[]): BinaryNode {
  const content = refs.map((ref) => node('ref', {}, Buffer.from(ref)));
  return node('iq', { from: SERVER, type: 'set', id }, [node('pair-device', {}, content)]);
}

/** The phone accepted: what it vouches for, and the names of the new device. */
export function pairSuccessNode(
  { directory, rules, now }: Network,
  id: string,
  { account, deviceId, sealed }: { account: Account; deviceId: number; sealed: Uint8Array },
): BinaryNode {
  const { number, business, pushName } = account;
  const names = { jid: directory.jidOf(number, 'pn', deviceId), lid: directory.jidOf(number, 'lid', deviceId) };
  const children = [
    node('device-identity', {}, sealed),
    node('platform', { name: business ? 'smba' : 'android' }),
    node('device', names),
  ];
  if (rules.tellsMigration) children.push(clientPropsNode(account));
  if (business) children.push(node('biz', { name: pushName }));
  return node('iq', { from: SERVER, type: 'set', id, t: stamp(now()) }, [node('pair-success', {}, children)]);
}

/** Whether the phone has migrated its conversations to hidden identifiers: the client writes in that namespace from now on. */
function clientPropsNode({ addressing }: Account): BinaryNode {
  const props = { isChatDbLidMigrated: addressing === 'lid' };
  return node('client-props', {}, proto.ClientPairingProps.encode(props).finish());
}

/** The secret on the screen was scanned and is worth nothing any more: the client is to make another. */
export function refreshRegistrationNode(id: string, atMs: number): BinaryNode {
  const attrs = { from: SERVER, type: 'companion_reg_refresh', id, t: stamp(atMs) };
  return node('notification', attrs, [node('companion_reg_refresh')]);
}

/** The account demands a passkey before it links anything. */
export function passkeyRequestNode(id: string, number: string, atMs: number): BinaryNode {
  const attrs = { from: SERVER, type: 'passkey_prologue_request', id, t: stamp(atMs) };
  return node('notification', attrs, [passkeyOptionsNode(number)]);
}

/** The client is to show another 8-character code, at once or when its user asks for one. */
export function refreshCodeNode(id: string, ref: Buffer, isForced: boolean): BinaryNode {
  const attrs = { from: SERVER, type: 'link_code_companion_reg', id, t: stamp(Date.now()) };
  const stage = { stage: 'refresh_code', force_manual_refresh: isForced ? 'true' : undefined };
  return node('notification', attrs, [
    node('link_code_companion_reg', stage, [node('link_code_pairing_ref', {}, ref)]),
  ]);
}

/** Answers a request for an 8-character code: the name under which the attempt goes on. */
export function codeRefNode(ref: Buffer): BinaryNode {
  return node('link_code_companion_reg', { stage: 'companion_hello' }, [node('link_code_pairing_ref', {}, ref)]);
}

/** The phone's half, once its owner typed the code. */
export function primaryHelloNode(id: string, wrapped: Buffer, identity: Buffer, ref: Buffer): BinaryNode {
  const attrs = { from: SERVER, type: 'link_code_companion_reg', id, t: stamp(Date.now()) };
  return node('notification', attrs, [
    node('link_code_companion_reg', { stage: 'primary_hello' }, [
      node('link_code_pairing_wrapped_primary_ephemeral_pub', {}, wrapped),
      node('primary_identity_pub', {}, identity),
      node('link_code_pairing_ref', {}, ref),
    ]),
  ]);
}
