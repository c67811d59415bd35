import { INBOUND_LIMITS } from '@gateway/contracts/content/inbound-content';
import { normalizeMessageContent, type proto } from '../socket/baileys.js';

/** The new words of an edit as newer apps send them, base64. See `openEdit`. */
export interface SealedEdit {
  payload: string;
  iv: string;
}

/** Four bytes for each character, and what is around them. */
const MAX_SEALED_BYTES = 4 * INBOUND_LIMITS.maxTextCharacters + 4_096;
const IV_BYTES = 12;
const SECRET_BYTES = 32;

/** Nothing of one that no app makes. */
export function readSealedEdit({ encPayload, encIv }: proto.Message.ISecretEncryptedMessage): {
  sealedEdit?: SealedEdit;
} {
  if (!encPayload || encPayload.length > MAX_SEALED_BYTES || encIv?.length !== IV_BYTES) return {};
  return { sealedEdit: { payload: base64(encPayload), iv: base64(encIv) } };
}

/** With which edits and the like of this message will be sealed. */
export function readSecret(message: proto.IMessage): { secret?: string } {
  const context = message.messageContextInfo ?? normalizeMessageContent(message)?.messageContextInfo;
  const secret = context?.messageSecret;
  return secret?.length === SECRET_BYTES ? { secret: base64(secret) } : {};
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}
