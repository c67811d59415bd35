import { type CipherKey, createCipheriv, createDecipheriv, createHmac, hkdfSync, pbkdf2 } from 'node:crypto';
import { promisify } from 'node:util';

const TAG_BYTES = 16;
const TAG_LENGTH = { authTagLength: TAG_BYTES };
const NOTHING = Buffer.alloc(0);

/** AES-256-GCM; the tag is apart. */
export function gcmSeal(
  key: CipherKey,
  iv: Uint8Array,
  plaintext: Uint8Array,
  aad: Uint8Array = NOTHING,
): { body: Buffer; tag: Buffer } {
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  if (aad.length > 0) cipher.setAAD(aad);
  const body = cipher.update(plaintext);
  cipher.final();
  return { body, tag: cipher.getAuthTag() };
}

/** AES-256-GCM with the tag at the end. */
export function gcmEncrypt(key: CipherKey, iv: Uint8Array, plaintext: Uint8Array, aad: Uint8Array = NOTHING): Buffer {
  const { body, tag } = gcmSeal(key, iv, plaintext, aad);
  return Buffer.concat([body, tag]);
}

/** The inverse of gcmEncrypt. Throws when the tag does not fit. */
export function gcmDecrypt(key: CipherKey, iv: Uint8Array, sealed: Uint8Array, aad: Uint8Array = NOTHING): Buffer {
  const end = sealed.length - TAG_BYTES;
  if (end < 0) throw new Error('sealed data is shorter than its tag');
  const decipher = createDecipheriv('aes-256-gcm', key, iv, TAG_LENGTH);
  if (aad.length > 0) decipher.setAAD(aad);
  decipher.setAuthTag(sealed.subarray(end));
  const body = decipher.update(sealed.subarray(0, end));
  decipher.final();
  return body;
}

/** AES-256-CTR: encrypting and decrypting are the same step. */
export function ctrCrypt(key: Uint8Array, iv: Uint8Array, data: Uint8Array): Buffer {
  const cipher = createCipheriv('aes-256-ctr', key, iv);
  return Buffer.concat([cipher.update(data), cipher.final()]);
}

export function hkdf(secret: Uint8Array, length: number, options: { salt?: Uint8Array; info?: string }): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, options.salt ?? NOTHING, options.info ?? '', length));
}

export function hmacSha256(key: Uint8Array, data: Uint8Array): Buffer {
  return createHmac('sha256', key).update(data).digest();
}

const pbkdf2Async = promisify(pbkdf2);

/** The key that an 8-character pairing code stands for. 131,072 rounds: about 50 ms off the main thread. */
export function derivePairingCodeKey(code: string, salt: Uint8Array): Promise<Buffer> {
  return pbkdf2Async(code, salt, 2 << 16, 32, 'sha256');
}
