import { createDecipheriv, createHash } from 'node:crypto';
import type { proto } from '@whiskeysockets/baileys';
import { hkdf, hmacSha256 } from '../crypto/ciphers.js';
import type { MediaStore } from './media-store.js';

export const MAC_BYTES = 10;

/** Kinds of files, with the word that their keys are derived with. */
const KEY_WORDS = {
  imageMessage: 'Image',
  stickerMessage: 'Image',
  videoMessage: 'Video',
  ptvMessage: 'Video',
  audioMessage: 'Audio',
  documentMessage: 'Document',
} as const;

/** The fields that all kinds of files share. */
export interface MediaPointer {
  readonly mediaKey?: Uint8Array | null;
  readonly directPath?: string | null;
  readonly fileSha256?: Uint8Array | null;
  readonly fileEncSha256?: Uint8Array | null;
  readonly mimetype?: string | null;
}

export interface FoundMedia {
  readonly pointer: MediaPointer;
  readonly keyWord: string;
}

/** The file that a message points to, if it points to one. */
export function findMedia(content: proto.IMessage): FoundMedia | undefined {
  for (const [field, keyWord] of Object.entries(KEY_WORDS)) {
    const pointer = content[field as keyof typeof KEY_WORDS];
    if (pointer) return { pointer, keyWord };
  }
  return undefined;
}

/** Fetches, checks and decrypts a file as a phone does. Throws with what does not fit. */
export function openMedia(store: MediaStore, { pointer, keyWord }: FoundMedia): Buffer {
  const { mediaKey, directPath, fileSha256, fileEncSha256 } = pointer;
  if (!mediaKey || !directPath || !fileSha256) throw new Error('message lacks the keys of its file');
  const sealed = store.find(directPath.split('?')[0]!);
  if (!sealed) throw new Error('file was not uploaded');
  if (fileEncSha256 && !sha256(sealed).equals(fileEncSha256)) throw new Error('encrypted file has another hash');
  const keys = hkdf(mediaKey, 112, { info: `WhatsApp ${keyWord} Keys` });
  const iv = keys.subarray(0, 16);
  const body = sealed.subarray(0, -MAC_BYTES);
  const mac = hmacSha256(keys.subarray(48, 80), Buffer.concat([iv, body])).subarray(0, MAC_BYTES);
  if (!mac.equals(sealed.subarray(-MAC_BYTES))) throw new Error('file was changed on its way');
  const cipher = createDecipheriv('aes-256-cbc', keys.subarray(16, 48), iv);
  const file = Buffer.concat([cipher.update(body), cipher.final()]);
  if (!sha256(file).equals(fileSha256)) throw new Error('file has another hash');
  return file;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
