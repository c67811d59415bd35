import { proto } from '@whiskeysockets/baileys';
import { sign } from '../crypto/curve.js';
import type { PhoneKeys } from '../phones/phone-keys.js';
import { type BinaryNode, node, stamp } from '../wire/nodes.js';
import type { Account } from './account.js';

const KEY_INDEX_PREFIX = Buffer.from([6, 2]);

/** The `devices` node of a user: the phone, then the linked clients with the signed list of their key indexes. */
export function devicesNode(account: Account | undefined, keys: () => PhoneKeys, nowMs: number): BinaryNode {
  const phone = node('device', { id: '0' });
  if (!account?.isLinked) return node('devices', {}, [node('device-list', {}, [phone])]);
  const linked = [...account.devices.values()].map((device) =>
    node('device', { id: String(device.id), 'key-index': String(device.keyIndex) }),
  );
  return node('devices', {}, [
    node('device-list', {}, [phone, ...linked]),
    node('key-index-list', { ts: stamp(nowMs) }, signedKeyIndexList(account, keys(), nowMs)),
  ]);
}

function signedKeyIndexList(account: Account, { identity }: PhoneKeys, nowMs: number): Uint8Array {
  const indexes = [...account.devices.values()].map((device) => device.keyIndex);
  const details = proto.ADVKeyIndexList.encode({
    rawId: account.rawId,
    timestamp: Math.floor(nowMs / 1000),
    currentIndex: Math.max(0, ...indexes),
    validIndexes: [0, ...indexes],
  }).finish();
  return proto.ADVSignedKeyIndexList.encode({
    details,
    accountSignature: sign(identity.privateKey, Buffer.concat([KEY_INDEX_PREFIX, details])),
  }).finish();
}
