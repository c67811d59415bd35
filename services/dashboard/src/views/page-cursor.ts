import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/** The place in a list of people, for those who may not read it. @param secrets the first seals, all of them open. */
export function sealCursor(cursor: string, [secret = '']: readonly string[]): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(secret), iv);
  const sealed = Buffer.concat([cipher.update(cursor, 'utf8'), cipher.final()]);
  return Buffer.concat([iv, sealed, cipher.getAuthTag()]).toString('base64url');
}

/** `undefined` for what `sealCursor` has not made. */
export function openCursor(given: string, secrets: readonly string[]): string | undefined {
  const bytes = Buffer.from(given, 'base64url');
  if (bytes.length <= IV_BYTES + TAG_BYTES) return undefined;
  for (const secret of secrets) {
    try {
      const opener = createDecipheriv(CIPHER, keyOf(secret), bytes.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
      opener.setAuthTag(bytes.subarray(-TAG_BYTES));
      return Buffer.concat([opener.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), opener.final()]).toString('utf8');
    } catch {
      // Sealed with another one, or by no one.
    }
  }
  return undefined;
}

function keyOf(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', 'console page cursor', 32));
}
