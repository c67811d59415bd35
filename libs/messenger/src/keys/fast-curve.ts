import { createPrivateKey, createPublicKey, diffieHellman, type KeyObject } from 'node:crypto';
import { createRequire } from 'node:module';
import { LRUCache } from 'lru-cache';
import * as bridge from 'whatsapp-rust-bridge';

/** The functions of libsignal's `curve.js` that this replaces. Public keys carry a type byte (33 bytes). */
export interface SignalCurve {
  generateKeyPair(): { pubKey: Buffer<ArrayBuffer>; privKey: Buffer<ArrayBuffer> };
  calculateAgreement(pubKey: Uint8Array, privKey: Uint8Array): Buffer<ArrayBuffer>;
  calculateSignature(privKey: Uint8Array, message: Uint8Array): Buffer<ArrayBuffer>;
  verifySignature(pubKey: Uint8Array, message: Uint8Array, signature: Uint8Array, isInit?: boolean): true;
}

/**
 * Curve25519 in WASM, from the bridge that Baileys ships: 5 to 120 times faster than libsignal's own, and strict. Agreements are those
 * of OpenSSL, which take half as long: a first message needs five. They throw for points of a low order, whose secret anyone knows.
 *
 * `verifySignature` throws on a false signature. libsignal returns a boolean, which Baileys ignores, so that stock
 * Baileys takes any noise certificate, any account signature and any sender key.
 * It verifies signed pre-keys too, which libsignal skips (`isInit`): a server that swaps a contact's signed pre-key
 * could otherwise weaken the agreement that protects the first messages. Clients of the network sign theirs rightly.
 */
export const fastCurve: SignalCurve = {
  generateKeyPair() {
    const { pubKey, privKey } = bridge.generateKeyPair();
    return { pubKey: Buffer.from(pubKey), privKey: Buffer.from(privKey) };
  },
  calculateAgreement(pubKey, privKey) {
    const [publicKey, privateKey] = [publicKeyOf(withType(pubKey)), privateKeyOf(privKey)];
    return Buffer.from(diffieHellman({ publicKey, privateKey }));
  },
  calculateSignature: (privKey, message) => Buffer.from(bridge.calculateSignature(privKey, message)),
  verifySignature(pubKey, message, signature) {
    if (!isGenuine(pubKey, message, signature)) throw new Error('the signature is false');
    return true;
  },
};

/** Whether a signature is real. Malformed keys and signatures are not. */
export function isGenuine(pubKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return bridge.verifySignature(withType(pubKey), message, signature);
  } catch {
    return false;
  }
}

const KEY_TYPE = Buffer.from([5]);

function withType(pubKey: Uint8Array): Uint8Array {
  return pubKey.length === KEY_BYTES ? Buffer.concat([KEY_TYPE, pubKey]) : pubKey;
}

const KEY_BYTES = 32;
// As JWK (RFC 8037): in DER, which OpenSSL takes apart with much ado, a private key takes ten times as long.
const X25519 = { kty: 'OKP', crv: 'X25519' } as const;
const NO_KEY = Buffer.alloc(KEY_BYTES).toString('base64url');
/** A session that begins uses its base key three times, and the identity of its device, as those beside it do. */
const recent = new LRUCache<string, KeyObject>({ max: 16 });

/** @param typed 33 bytes. */
function publicKeyOf(typed: Uint8Array): KeyObject {
  if (typed.length !== KEY_BYTES + 1 || typed[0] !== KEY_TYPE[0]) throw new Error('not a public key');
  return createPublicKey({ key: { ...X25519, x: sayKey(typed.subarray(1)) }, format: 'jwk' });
}

function privateKeyOf(privKey: Uint8Array): KeyObject {
  if (privKey.length !== KEY_BYTES) throw new Error('not a private key');
  const d = sayKey(privKey);
  const known = recent.get(d);
  if (known) return known;
  // Its public half is worked out, whatever is said here.
  const key = createPrivateKey({ key: { ...X25519, d, x: NO_KEY }, format: 'jwk' });
  recent.set(d, key);
  return key;
}

const sayKey = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64url');

// libsignal calls its curve through the module object, so replacing its members is enough for it. Baileys copies them
// when it is loaded: that is why this file is imported before it (see baileys.ts).
const requireLikeBaileys = createRequire(import.meta.resolve('@whiskeysockets/baileys'));
Object.assign(requireLikeBaileys('libsignal/src/curve.js') as SignalCurve, fastCurve);
