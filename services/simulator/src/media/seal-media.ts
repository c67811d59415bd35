import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { hkdf, hmacSha256 } from '../crypto/ciphers.js';
import type { MediaStore } from './media-store.js';
import { MAC_BYTES } from './open-media.js';

/** Encrypts a file as a phone does, keeps it where clients fetch it, and says where that is, with which keys. */
export function sealMedia(store: MediaStore, file: Buffer, keyWord: string) {
  const mediaKey = randomBytes(32);
  const keys = hkdf(mediaKey, 112, { info: `WhatsApp ${keyWord} Keys` });
  const iv = keys.subarray(0, 16);
  const cipher = createCipheriv('aes-256-cbc', keys.subarray(16, 48), iv);
  const body = Buffer.concat([cipher.update(file), cipher.final()]);
  const mac = hmacSha256(keys.subarray(48, 80), Buffer.concat([iv, body])).subarray(0, MAC_BYTES);
  const sealed = Buffer.concat([body, mac]);
  const [fileSha256, fileEncSha256] = [file, sealed].map((bytes) => createHash('sha256').update(bytes).digest());
  const directPath = store.keep(sealed, fileEncSha256!.toString('base64url'))!;
  return { mediaKey, directPath, fileSha256: fileSha256!, fileEncSha256: fileEncSha256!, fileLength: file.length };
}
