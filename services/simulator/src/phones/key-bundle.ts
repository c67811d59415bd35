import { type BinaryNode, bigEndian, node } from '../wire/nodes.js';
import type { PhoneKeyring } from './phone-keys.js';

const CURVE_TYPE = Buffer.from([5]);

/** The public keys that let a stranger open a session, as stanzas carry them. */
export interface KeyBundle {
  readonly registrationId: number;
  readonly identity: Uint8Array;
  readonly signedPreKey: { readonly keyId: number; readonly publicKey: Uint8Array; readonly signature: Uint8Array };
  readonly preKey?: { readonly keyId: number; readonly publicKey: Uint8Array } | undefined;
  /** Of linked devices: proves that the account's phone vouched for the identity key. */
  readonly signedIdentity?: Uint8Array | undefined;
}

/** A phone's bundle, with a one-time key of its own each time. */
export function makePhoneBundle(keyring: PhoneKeyring, number: string): KeyBundle {
  const { identity, registrationId, signedPreKey } = keyring.keysOf(number);
  const keyId = keyring.nextPreKeyId();
  return {
    registrationId,
    identity: identity.publicKey,
    signedPreKey: {
      keyId: signedPreKey.keyId,
      publicKey: signedPreKey.keyPair.publicKey,
      signature: signedPreKey.signature,
    },
    preKey: { keyId, publicKey: keyring.preKeyOf(number, keyId).publicKey },
  };
}

/** The children of a `user` node in an answer to a key query. */
export function bundleNodes(bundle: KeyBundle): BinaryNode[] {
  return [
    node('registration', {}, bigEndian(bundle.registrationId, 4)),
    node('type', {}, CURVE_TYPE),
    node('identity', {}, bundle.identity),
    ...preKeyNodes(bundle),
    ...(bundle.signedIdentity ? [node('device-identity', {}, bundle.signedIdentity)] : []),
  ];
}

/** The `keys` node of a retry receipt. */
export function retryKeysNode(bundle: KeyBundle): BinaryNode {
  return node('keys', {}, [
    node('type', {}, CURVE_TYPE),
    node('identity', {}, bundle.identity),
    ...preKeyNodes(bundle),
  ]);
}

function preKeyNodes({ preKey, signedPreKey }: KeyBundle): BinaryNode[] {
  const signed = node('skey', {}, [
    node('id', {}, bigEndian(signedPreKey.keyId, 3)),
    node('value', {}, signedPreKey.publicKey),
    node('signature', {}, signedPreKey.signature),
  ]);
  if (!preKey) return [signed];
  const oneTime = node('key', {}, [node('id', {}, bigEndian(preKey.keyId, 3)), node('value', {}, preKey.publicKey)]);
  return [oneTime, signed];
}
