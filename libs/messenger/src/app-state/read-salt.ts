import { createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { readFields } from '../history/read-fields.js';

/** One record of a collection of settings, sealed: it was set, or removed. */
export interface SettingsRecord {
  /** Protobuf `SyncdRecord`. */
  record: Uint8Array;
  isRemoved: boolean;
}

/** Shared settings are sealed with keys that the account's phone hands out: the key by its id (base64), if it is known. */
export type ReadSettingsKey = (id: string) => Promise<Uint8Array | undefined>;

/** `unknown`: a record is sealed with a key that is not here, and it may be this one. */
export type SaltInSettings = { kind: 'found'; salt: Buffer } | { kind: 'absent' } | { kind: 'unknown' };

const INDEX = Buffer.from('["nct_salt_sync"]');
/** Field of `SyncActionValue`, as newer definitions than the library's name it; its first field is the salt. */
const NCT_SALT_SYNC_ACTION = 80;
const MOST_KEYS = 100;
const RECORDS_AT_ONCE = 1_000;
const MAC_BYTES = 32;
const IV_BYTES = 16;

interface Keys {
  /** The name under which the salt is to be found. */
  wantedIndex: Buffer;
  cipherKey: Buffer;
  macKey: Buffer;
}

/**
 * The salt that an account's devices share in their settings, out of the records of the collection that it belongs to,
 * in their order. Records carry their name as a keyed hash, so all others are passed by unopened. Throws when the one
 * that is wanted was changed on its way.
 */
export async function readSalt(records: Iterable<SettingsRecord>, readKey: ReadSettingsKey): Promise<SaltInSettings> {
  const known = new Map<string, Keys | undefined>();
  let last: SettingsRecord | undefined;
  let isMissingKey = false;
  let seen = 0;
  for (const each of records) {
    // An account may have many: other devices of the process go on.
    if (++seen % RECORDS_AT_ONCE === 0) await setImmediate();
    const id = Buffer.from(fieldAt(each.record, 3, 1)).toString('base64');
    if (!known.has(id)) {
      if (known.size === MOST_KEYS) throw new Error('settings are sealed with too many keys');
      known.set(id, deriveKeys(await readKey(id)));
    }
    const keys = known.get(id);
    if (!keys) isMissingKey = true;
    else if (keys.wantedIndex.equals(fieldAt(each.record, 1, 1))) last = each;
  }
  if (last && !last.isRemoved) {
    const keyId = Buffer.from(fieldAt(last.record, 3, 1));
    return { kind: 'found', salt: open(last.record, keyId, known.get(keyId.toString('base64'))!) };
  }
  return { kind: isMissingKey ? 'unknown' : 'absent' };
}

function deriveKeys(secret: Uint8Array | undefined): Keys | undefined {
  if (!secret) return undefined;
  const keys = Buffer.from(hkdfSync('sha256', secret, '', 'WhatsApp Mutation Keys', 160));
  const wantedIndex = createHmac('sha256', keys.subarray(0, 32)).update(INDEX).digest();
  return { wantedIndex, cipherKey: keys.subarray(32, 64), macKey: keys.subarray(64, 96) };
}

function open(record: Uint8Array, keyId: Buffer, { cipherKey, macKey }: Keys): Buffer {
  const blob = fieldAt(record, 2, 1);
  const [sealed, mac] = [blob.subarray(0, -MAC_BYTES), blob.subarray(-MAC_BYTES)];
  if (mac.length < MAC_BYTES || !timingSafeEqual(mac, macOf(sealed, keyId, macKey))) {
    throw new Error('the salt was changed on its way');
  }
  const cipher = createDecipheriv('aes-256-cbc', cipherKey, sealed.subarray(0, IV_BYTES));
  const data = Buffer.concat([cipher.update(sealed.subarray(IV_BYTES)), cipher.final()]);
  if (!INDEX.equals(fieldAt(data, 1))) throw new Error('a setting has another name inside than outside');
  const salt = Buffer.from(fieldAt(data, 2, NCT_SALT_SYNC_ACTION, 1));
  if (salt.length === 0) throw new Error('a salt without bytes');
  return salt;
}

/** Of a value that was set. */
function macOf(sealed: Uint8Array, keyId: Buffer, macKey: Buffer): Buffer {
  const head = Buffer.concat([Buffer.of(1), keyId]);
  const end = Buffer.alloc(8);
  end.writeUInt8(head.length, 7);
  return createHmac('sha512', macKey).update(head).update(sealed).update(end).digest().subarray(0, MAC_BYTES);
}

/** Bytes inside of messages inside of each other; none when a field is missing. Throws on bytes that are no protobuf. */
export function fieldAt(bytes: Uint8Array, ...path: number[]): Uint8Array {
  let found = bytes;
  for (const id of path) {
    let next: Uint8Array = new Uint8Array();
    for (const field of readFields(found)) {
      if (field.id === id && typeof field.value !== 'number') next = field.value;
    }
    found = next;
  }
  return found;
}
