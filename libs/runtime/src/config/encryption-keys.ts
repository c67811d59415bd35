export interface EncryptionKey {
  /** Stored beside what it encrypts, so that keys can be rotated. */
  id: string;
  /** 32 bytes, for AES-256. */
  key: Buffer;
}

const ENTRY = /^([A-Za-z0-9-]{1,16}):([0-9a-fA-F]{64})$/;

/**
 * Parses `id:64hex[,id:64hex...]`. The first key encrypts, all of them decrypt: put a new one in front to rotate.
 * Throws an error without any part of the text.
 */
export function parseEncryptionKeys(text: string): EncryptionKey[] {
  const keys = text.split(',').map((entry) => parseEntry(entry.trim()));
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Error('must not use an id twice');
  return keys;
}

function parseEntry(entry: string): EncryptionKey {
  const match = ENTRY.exec(entry);
  if (!match) throw new Error('must be id:64hex[,id:64hex...], ids of at most 16 letters, digits and hyphens');
  return { id: match[1]!, key: Buffer.from(match[2]!, 'hex') };
}
