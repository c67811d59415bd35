import { createPrivateKey } from 'node:crypto';
import { calculateAgreement, calculateSignature, generateKeyPair, verifySignature } from 'whatsapp-rust-bridge';

/** A Curve25519 pair: both halves raw, 32 bytes. */
export interface CurveKeyPair {
  readonly publicKey: Buffer;
  readonly privateKey: Buffer;
}

const KEY_TYPE = Buffer.from([5]);
/** A JWK of a private key must name a public one, which is never looked at. */
const SOME_PUBLIC_KEY = Buffer.alloc(32).toString('base64url');

/** Puts the key-type byte before a raw public key; keys that have it already pass as they are. */
export function withKeyType(publicKey: Uint8Array): Buffer {
  return publicKey.length === 33 ? Buffer.from(publicKey) : Buffer.concat([KEY_TYPE, publicKey]);
}

export function makeKeyPair(): CurveKeyPair {
  const { pubKey, privKey } = generateKeyPair();
  return { publicKey: Buffer.from(pubKey).subarray(1), privateKey: Buffer.from(privKey) };
}

/**
 * The pair of a known private key. The bridge has no way to ask for the public half (its getPublicFromPrivateKey answers
 * for the Ed25519 form), and an agreement with the base point takes three times as long as OpenSSL by this door; by the
 * door for DER it takes ten times as long.
 */
export function keyPairOf(secret: Uint8Array): CurveKeyPair {
  const privateKey = Buffer.from(secret);
  privateKey[0] = privateKey[0]! & 248;
  privateKey[31] = (privateKey[31]! & 127) | 64;
  const d = privateKey.toString('base64url');
  const key = createPrivateKey({ key: { kty: 'OKP', crv: 'X25519', d, x: SOME_PUBLIC_KEY }, format: 'jwk' });
  return { privateKey, publicKey: Buffer.from(key.export({ format: 'jwk' }).x!, 'base64url') };
}

export function agree(publicKey: Uint8Array, privateKey: Uint8Array): Buffer {
  return Buffer.from(calculateAgreement(withKeyType(publicKey), privateKey));
}

export function sign(privateKey: Uint8Array, message: Uint8Array): Buffer {
  return Buffer.from(calculateSignature(privateKey, message));
}

/** True only for a signature that really verifies; malformed input is false, never an exception. */
export function verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  try {
    return verifySignature(withKeyType(publicKey), message, signature);
  } catch {
    return false;
  }
}
