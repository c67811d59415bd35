import { randomBytes } from 'node:crypto';
import { ctrCrypt, derivePairingCodeKey, gcmDecrypt, hkdf } from '../crypto/ciphers.js';
import { agree, type CurveKeyPair, makeKeyPair } from '../crypto/curve.js';

const SALT_BYTES = 32;
const IV_BYTES = 16;

/** The phone's half of the exchange that a typed code starts. */
export interface PhoneHalf {
  readonly ephemeral: CurveKeyPair;
  /** The phone's ephemeral key, encrypted with the code: salt, iv, key. */
  readonly wrapped: Buffer;
  /** The client's ephemeral key, or noise when the code is wrong: that cannot be told yet. */
  readonly clientKey: Buffer;
}

/** The phone takes the typed code to be right: unwraps the client's key and wraps its own with it. */
export async function answerWithCode(code: string, wrappedClientKey: Buffer): Promise<PhoneHalf> {
  const salt = randomBytes(SALT_BYTES);
  const iv = randomBytes(IV_BYTES);
  const [unwrapKey, wrapKey] = await Promise.all([
    derivePairingCodeKey(code, wrappedClientKey.subarray(0, SALT_BYTES)),
    derivePairingCodeKey(code, salt),
  ]);
  const start = SALT_BYTES + IV_BYTES;
  const clientKey = ctrCrypt(unwrapKey, wrappedClientKey.subarray(SALT_BYTES, start), wrappedClientKey.subarray(start));
  const ephemeral = makeKeyPair();
  return { ephemeral, clientKey, wrapped: Buffer.concat([salt, iv, ctrCrypt(wrapKey, iv, ephemeral.publicKey)]) };
}

/**
 * Opens the client's bundle and derives the secret that seals the device identity. Undefined when the code was wrong:
 * then the two sides agreed on different keys, and the bundle does not open.
 */
export function openKeyBundle(
  half: PhoneHalf,
  phone: CurveKeyPair,
  bundle: Buffer,
  clientIdentity: Buffer,
): Buffer | undefined {
  const shared = agree(half.clientKey, half.ephemeral.privateKey);
  const salt = bundle.subarray(0, 32);
  const key = hkdf(shared, 32, { salt, info: 'link_code_pairing_key_bundle_encryption_key' });
  const content = tryOpen(key, bundle.subarray(32, 44), bundle.subarray(44));
  if (content?.length !== 96) return undefined;
  const named = content.subarray(0, 32).equals(clientIdentity) && content.subarray(32, 64).equals(phone.publicKey);
  if (!named) return undefined;
  const identityShared = agree(clientIdentity, phone.privateKey);
  return hkdf(Buffer.concat([shared, identityShared, content.subarray(64)]), 32, { info: 'adv_secret' });
}

function tryOpen(key: Buffer, iv: Buffer, sealed: Buffer): Buffer | undefined {
  try {
    return gcmDecrypt(key, iv, sealed);
  } catch {
    return undefined;
  }
}
