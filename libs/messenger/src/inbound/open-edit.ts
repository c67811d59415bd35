import { createDecipheriv, hkdfSync } from 'node:crypto';
import { proto } from '../socket/baileys.js';
import { readNewText } from './read-inbound.js';
import type { SealedEdit } from './sealed-edit.js';

/** Of the message that is changed. */
export interface EditedOriginal {
  platformId: string;
  /** Base64; it came with that message. */
  secret: string;
  /** Jids without a device of its writer, who is the only one that may change it: the app has used one of them. */
  writers: readonly string[];
}

const PURPOSE = 'Message Edit';
const TAG_BYTES = 16;

/**
 * The new text; `undefined` when it is not sealed for this message. Apps since May 2026 seal edits so (Baileys #2547 and #2690,
 * whatsmeow `msgsecret.go`): AES-256-GCM without more data, under a key that HKDF makes from the secret for this message and its writer.
 */
export function openEdit(edit: SealedEdit, original: EditedOriginal): string | undefined {
  const pairs = original.writers.flatMap((author) => original.writers.map((editor) => [author, editor] as const));
  for (const [author, editor] of pairs) {
    const plain = open(edit, keyFor(original, author, editor));
    if (plain) return plain.text;
  }
  return undefined;
}

function keyFor({ platformId, secret }: EditedOriginal, author: string, editor: string): Buffer {
  const purpose = `${platformId}${author}${editor}${PURPOSE}`;
  return Buffer.from(hkdfSync('sha256', Buffer.from(secret, 'base64'), '', purpose, 32));
}

function open({ payload, iv }: SealedEdit, key: Buffer): { text: string } | undefined {
  const sealed = Buffer.from(payload, 'base64');
  try {
    const cipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64'));
    cipher.setAuthTag(sealed.subarray(-TAG_BYTES));
    const plain = Buffer.concat([cipher.update(sealed.subarray(0, -TAG_BYTES)), cipher.final()]);
    return { text: readNewText(proto.Message.decode(plain)) };
  } catch {
    return undefined;
  }
}
