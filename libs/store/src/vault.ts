import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { EncryptionKey } from '@gateway/runtime/encryption-keys';

/** Encrypts what must not lie open in Redis: keys of accounts and content of messages. */
export interface Vault {
  /** @param place key name and field: a value copied to another place does not open. */
  seal(plain: Uint8Array | string, place: string): Buffer;
  /** Throws when the value was changed, moved, or sealed with a key that is not configured. */
  open(sealed: Buffer, place: string): Buffer;
}

const VERSION = 1;
const IV_BYTES = 12;
const TAG_BYTES = 16;
export const MS_PER_DAY = 86_400_000;

/**
 * AES-256-GCM. Layout: version (1), length of the key id (1), key id, day of writing (2, days since 1970),
 * iv (12), data, tag (16). The header and the place are authenticated. The day lets old sessions be pruned without
 * opening them.
 * @param keys the first one seals, all of them open.
 */
export function createVault(keys: readonly EncryptionKey[]): Vault {
  const byId = new Map(keys.map(({ id, key }) => [id, key]));
  const current = keys[0];
  if (!current) throw new Error('the vault needs at least one encryption key');

  return {
    seal(plain, place) {
      const header = makeHeader(current.id);
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', current.key, iv).setAAD(aad(header, place));
      return Buffer.concat([header, iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, place) {
      const { header, keyId } = readHeader(sealed);
      const key = byId.get(keyId);
      if (!key) throw new Error('sealed with an encryption key that is not configured');
      const iv = sealed.subarray(header.length, header.length + IV_BYTES);
      const data = sealed.subarray(header.length + IV_BYTES, sealed.length - TAG_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', key, iv).setAAD(aad(header, place));
      decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
      return Buffer.concat([decipher.update(data), decipher.final()]);
    },
  };
}

function makeHeader(keyId: string): Buffer {
  const day = Buffer.alloc(2);
  day.writeUInt16BE(Math.floor(Date.now() / MS_PER_DAY));
  return Buffer.concat([Buffer.of(VERSION, keyId.length), Buffer.from(keyId, 'ascii'), day]);
}

function readHeader(sealed: Buffer): { header: Buffer; keyId: string } {
  if (sealed.length < 4 + IV_BYTES + TAG_BYTES || sealed[0] !== VERSION) throw new Error('not a sealed value');
  const idLength = sealed[1]!;
  return {
    header: sealed.subarray(0, 4 + idLength),
    keyId: sealed.toString('ascii', 2, 2 + idLength),
  };
}

function aad(header: Buffer, place: string): Buffer {
  return Buffer.concat([header, Buffer.from(place)]);
}
