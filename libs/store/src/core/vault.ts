import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomFillSync } from 'node:crypto';
import { systemClock } from '@gateway/runtime/clock';
import type { EncryptionKey } from '@gateway/runtime/config/encryption-keys';
import { GatewayError } from '@gateway/runtime/errors';

/**
 * The two rings of keys. `credentials`: anyone who has these can be the accounts; the API never gets them. `contents`: what
 * messages say and to what they belong.
 */
export type KeyRing = 'credentials' | 'contents';

/** The purposes of encryption, each with its own subkey, and the ring of that subkey. */
export const RINGS = {
  account: 'credentials',
  session: 'credentials',
  content: 'contents',
  file: 'contents',
  upload: 'contents',
  received: 'contents',
  question: 'contents',
  repeat: 'contents',
  idKey: 'contents',
  linkCode: 'contents',
  webhook: 'contents',
  webhookAttempt: 'contents',
  parkingKey: 'contents',
} as const satisfies Record<string, KeyRing>;

export type SealPurpose = keyof typeof RINGS;

type DigestPurpose = 'messageId' | 'parked' | 'forwarding';
type DigestPart = string | number | Buffer;

export type KeyRings = Record<KeyRing, readonly EncryptionKey[]>;

/** Encrypts keys of accounts and content of messages for Redis. */
export interface Vault {
  /** @param place key name and field: a value copied to another place does not open. */
  seal(plain: Uint8Array | string, purpose: SealPurpose, place: string): Buffer;
  /**
   * Throws `UnknownKeyError` for a key or a layout that this process does not know (yet), and another error when the value
   * was changed or moved.
   */
  open(sealed: Buffer, purpose: SealPurpose, place: string): Buffer;
  /** The same value under the key that seals now; with the day on which it was written first. Throws as `open` does. */
  reseal(sealed: Buffer, purpose: SealPurpose, place: string): Buffer;
  /** 32 bytes that follow from these parts, and that cannot be guessed without the key that seals contents now. */
  digest(purpose: DigestPurpose, parts: readonly DigestPart[]): Buffer;
  /** What the digests for this purpose are made with. */
  subkey(purpose: DigestPurpose): Buffer;
  /** The key ids of a ring, the one that seals in front. */
  keyIds(ring: KeyRing): string[];
}

/**
 * Encrypted with a key that is not configured here, or in a later layout. This is no
 * reason to discard the value: during a rollout other processes know it, and this one will.
 */
export class UnknownKeyError extends GatewayError {
  constructor(fields: { ring: KeyRing; keyId?: string }) {
    super({ code: 'unknown_key', message: 'sealed with an encryption key that is not configured here', fields });
  }
}

/** Of the layout of sealed values. */
export const SEALED_VERSION = 2;
const IV_BYTES = 12;
const TAG_BYTES = 16;
/** Version, length of the key id, day. */
const FIXED_HEADER_BYTES = 4;
export const MS_PER_DAY = 86_400_000;

/**
 * AES-256-GCM. Layout: version (1), length of the key id (1), key id, day of writing (2, days since 1970),
 * iv (12), data, tag (16). The header and the place are authenticated. The day lets old sessions be pruned without
 * opening them. The key is derived for the purpose (HKDF-SHA256, RFC 5869): the configured one encrypts nothing itself.
 * @param rings of each the first key seals, all of them open; a ring without keys does neither.
 */
export function createVault(rings: KeyRings): Vault {
  const derived = new Map<string, Buffer>();
  const keyFor = (purpose: SealPurpose, keyId: string | undefined): Buffer => {
    const name = `${purpose}/${keyId}`;
    const known = derived.get(name);
    if (known) return known;
    const ring = RINGS[purpose];
    const key = rings[ring].find(({ id }) => id === keyId);
    if (!key) throw new UnknownKeyError({ ring, ...(keyId !== undefined && { keyId }) });
    const subkey = Buffer.from(hkdfSync('sha256', key.key, '', `messenger-gateway/${purpose}`, 32));
    derived.set(name, subkey);
    return subkey;
  };

  const seal = (
    plain: Uint8Array | string,
    { purpose, place, day }: { purpose: SealPurpose; place: string; day: number },
  ) => {
    const keyId = rings[RINGS[purpose]][0]?.id;
    const key = keyFor(purpose, keyId);
    const header = makeHeader(keyId!, day);
    const iv = nextIv();
    const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(aad(header, place));
    return Buffer.concat([header, iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
  };
  const open = (sealed: Buffer, purpose: SealPurpose, place: string) => {
    const { header, keyId, version } = readHeader(sealed);
    if (version > SEALED_VERSION) throw new UnknownKeyError({ ring: RINGS[purpose], keyId });
    const key = keyFor(purpose, keyId);
    const iv = sealed.subarray(header.length, header.length + IV_BYTES);
    const data = sealed.subarray(header.length + IV_BYTES, sealed.length - TAG_BYTES);
    const decipher = createDecipheriv('aes-256-gcm', key, iv).setAAD(aad(header, place));
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    return Buffer.concat([decipher.update(data), decipher.final()]);
  };

  const subkey = (purpose: DigestPurpose) => {
    const [key] = rings.contents;
    if (!key) throw new UnknownKeyError({ ring: 'contents' });
    return Buffer.from(hkdfSync('sha256', key.key, '', `messenger-gateway/${purpose}`, 32));
  };

  return {
    seal: (plain, purpose, place) => seal(plain, { purpose, place, day: Math.floor(systemClock.nowMs() / MS_PER_DAY) }),
    open,
    reseal(sealed, purpose, place) {
      const plain = open(sealed, purpose, place);
      const { header } = readHeader(sealed);
      return seal(plain, { purpose, place, day: header.readUInt16BE(header.length - 2) });
    },
    digest: (purpose, parts) => digest(subkey(purpose), parts),
    subkey,
    keyIds: (ring) => rings[ring].map(({ id }) => id),
  };
}

/** HMAC-SHA256 of these parts. */
export function digest(key: Buffer, parts: readonly DigestPart[]): Buffer {
  const hmac = createHmac('sha256', key);
  for (const part of parts) {
    const bytes = Buffer.isBuffer(part) ? part : Buffer.from(String(part));
    // With its length: no two lists of parts look the same.
    hmac.update(`${bytes.length}:`).update(bytes);
  }
  return hmac.digest();
}

/** Number of bytes of a value that contain its key id. */
export const LONGEST_HEADER_BYTES = FIXED_HEADER_BYTES + 255;

/** The id of the key that a value is encrypted with, from its first bytes; empty if the value is not encrypted. */
export function keyIdOf(head: Buffer): string {
  return (head[0] ?? 0) < SEALED_VERSION ? '' : head.toString('ascii', 2, 2 + (head[1] ?? 0));
}

const ivs = Buffer.alloc(256 * IV_BYTES);
let ivsUsed = ivs.length;

/** Each of these bytes is used once. The generator takes as long for all of them as for one. */
function nextIv(): Buffer {
  if (ivsUsed === ivs.length) {
    randomFillSync(ivs);
    ivsUsed = 0;
  }
  ivsUsed += IV_BYTES;
  return ivs.subarray(ivsUsed - IV_BYTES, ivsUsed);
}

function makeHeader(keyId: string, day: number): Buffer {
  return Buffer.concat([
    Buffer.of(SEALED_VERSION, keyId.length),
    Buffer.from(keyId, 'ascii'),
    Buffer.of(day >> 8, day & 255),
  ]);
}

function readHeader(sealed: Buffer): { header: Buffer; keyId: string; version: number } {
  const version = sealed[0] ?? 0;
  const headerBytes = FIXED_HEADER_BYTES + (sealed[1] ?? 0);
  if (version < SEALED_VERSION || sealed.length < headerBytes + IV_BYTES + TAG_BYTES)
    throw new Error('not a sealed value');
  return {
    header: sealed.subarray(0, headerBytes),
    keyId: sealed.toString('ascii', 2, headerBytes - 2),
    version,
  };
}

function aad(header: Buffer, place: string): Buffer {
  return Buffer.concat([header, Buffer.from(place)]);
}
