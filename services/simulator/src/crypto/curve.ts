import { calculateAgreement, calculateSignature, generateKeyPair, verifySignature } from 'whatsapp-rust-bridge';

/** A Curve25519 pair: both halves raw, 32 bytes. */
export interface CurveKeyPair {
  readonly publicKey: Buffer;
  readonly privateKey: Buffer;
}

const KEY_TYPE = Buffer.from([5]);
const BASE_POINT = Buffer.concat([KEY_TYPE, Buffer.from([9]), Buffer.alloc(31)]);

/** Puts the key-type byte before a raw public key; keys that have it already pass as they are. */
export function withKeyType(publicKey: Uint8Array): Buffer {
  return publicKey.length === 33 ? Buffer.from(publicKey) : Buffer.concat([KEY_TYPE, publicKey]);
}

export function makeKeyPair(): CurveKeyPair {
  const { pubKey, privKey } = generateKeyPair();
  return { publicKey: Buffer.from(pubKey).subarray(1), privateKey: Buffer.from(privKey) };
}

/**
 * The pair of a known private key.
 * An agreement with the base point: the bridge's own getPublicFromPrivateKey answers for the Ed25519 form of the key.
 */
export function keyPairOf(secret: Uint8Array): CurveKeyPair {
  const privateKey = Buffer.from(secret);
  privateKey[0] = privateKey[0]! & 248;
  privateKey[31] = (privateKey[31]! & 127) | 64;
  return { privateKey, publicKey: Buffer.from(calculateAgreement(BASE_POINT, privateKey)) };
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
