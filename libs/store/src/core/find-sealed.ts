import { restOfKey } from '@gateway/contracts/redis-keys';
import { scanKeys } from '@gateway/runtime/redis/scan-keys';
import { defineScript, number, text } from './scripts/define-script.js';
import { words } from './scripts/replies.js';
import type { Store } from './store.js';
import { type KeyRing, keyIdOf, LONGEST_HEADER_BYTES, RINGS, type SealPurpose } from './vault.js';

interface Place {
  /** The part of the key after the device or workspace. */
  keys: RegExp;
  /** In a hash: these fields, or all of them. Without it the key itself is the value. */
  fields?: readonly string[] | 'all';
  /** In base64. */
  isText?: true;
}

/** The places of encrypted values for each purpose: a missing one would not be encrypted again with a new key. */
const PLACES: Record<SealPurpose, Place> = {
  account: { keys: /^creds(?::quarantined)?$/ },
  session: { keys: /^keys:.+:\d+$/, fields: 'all' },
  content: { keys: /^c:[^:]+$/ },
  file: { keys: /^blob:[^:]+:\d+$/ },
  upload: { keys: /^blob-upload:/ },
  received: { keys: /^received$/, fields: 'all' },
  question: { keys: /^questions$/, fields: 'all', isText: true },
  repeat: { keys: /^idempotency:/, fields: ['fingerprint'] },
  idKey: { keys: /^device$/, fields: ['idKey'] },
  linkCode: { keys: /^observed$/, fields: ['code'], isText: true },
  webhook: { keys: /^webhook:[^:]+$/, fields: ['target', 'secrets'] },
  parkingKey: { keys: /^parking-key$/ },
  webhookAttempt: { keys: /^webhook-attempts:[^:]+$/, fields: 'all' },
};

const listSealed = defineScript({
  name: 'list-sealed',
  whenFull: 'runs',
  keys: ['hash'],
  args: { cursor: text, limit: number },
  reply: words,
});

/** A value as stored in Redis, still encrypted. */
export interface SealedValue {
  purpose: SealPurpose;
  ring: KeyRing;
  keyId: string;
  key: string;
  /** Empty when the key itself is the value. */
  field: string;
  /** The place that it is bound to. */
  place: string;
  isText: boolean;
}

const KEYS_AT_ONCE = 500;
const FIELDS_AT_ONCE = 500;

/**
 * Everything that is sealed in this installation, a few hundred at a time, while all runs: what is there all the while is
 * among them, at times twice. Throws, perhaps only at the end, when some of it may have been missed (`scanKeys`).
 */
export async function* findSealed(store: Store): AsyncGenerator<SealedValue[]> {
  for await (const keys of scanKeys(store.redis, { match: `${store.space.prefix}:{*`, count: KEYS_AT_ONCE })) {
    const places = keys.flatMap((key) => placesOf(store, key));
    const single = await Promise.all(
      places.filter(({ place }) => place.fields !== 'all').map((each) => readOne(store, each)),
    );
    yield single.flat();
    for (const each of places.filter(({ place }) => place.fields === 'all')) yield* readHash(store, each);
  }
}

interface FoundPlace {
  purpose: SealPurpose;
  place: Place;
  key: string;
}

function placesOf(store: Store, key: string): FoundPlace[] {
  const rest = restOfKey(store.space, key);
  if (rest === undefined) return [];
  return (Object.entries(PLACES) as [SealPurpose, Place][])
    .filter(([, { keys }]) => keys.test(rest))
    .map(([purpose, place]) => ({ purpose, place, key }));
}

async function readOne(store: Store, { purpose, place, key }: FoundPlace): Promise<SealedValue[]> {
  const isText = place.isText === true;
  if (place.fields === undefined) {
    const head = await store.redis.getrangeBuffer(key, 0, LONGEST_HEADER_BYTES);
    return head.length === 0 ? [] : [toValue({ purpose, key, field: '', isText, keyId: keyIdOf(head) })];
  }
  const fields = place.fields as readonly string[];
  const values = await store.redis.hmgetBuffer(key, ...fields);
  return fields.flatMap((field, i) => {
    const value = values[i];
    return value ? [toValue({ purpose, key, field, isText, keyId: keyIdOf(decodeSealed(value, isText)) })] : [];
  });
}

async function* readHash(store: Store, { purpose, place, key }: FoundPlace): AsyncGenerator<SealedValue[]> {
  const isText = place.isText === true;
  if (isText) {
    const all = Object.entries(await store.redis.hgetallBuffer(key));
    return yield all.map(([field, value]) =>
      toValue({ purpose, key, field, isText, keyId: keyIdOf(decodeSealed(value, true)) }),
    );
  }
  let cursor = '0';
  do {
    const [next, ...found] = await listSealed(store, { hash: key, cursor, limit: FIELDS_AT_ONCE });
    cursor = next!;
    const values: SealedValue[] = [];
    for (let i = 0; i < found.length; i += 2)
      values.push(toValue({ purpose, key, field: found[i]!, keyId: found[i + 1]!, isText }));
    yield values;
  } while (cursor !== '0');
}

function toValue(found: Omit<SealedValue, 'ring' | 'place'>): SealedValue {
  const { purpose, key, field } = found;
  return { ...found, ring: RINGS[purpose], place: toPlace(purpose, key, field) };
}

function toPlace(purpose: SealPurpose, key: string, field: string): string {
  // Set aside as they are.
  if (purpose === 'account') return key.replace(/:quarantined$/, '');
  if (field === '') return key;
  return purpose === 'question' ? `${key}:${field}` : `${key}/${field}`;
}

/** As bytes, in whichever form it is stored. */
export function decodeSealed(value: Buffer, isText: boolean): Buffer {
  return isText ? Buffer.from(value.toString(), 'base64') : value;
}
