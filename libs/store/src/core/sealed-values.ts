import { restOfKey } from '@gateway/contracts/redis-keys';
import type { Store } from './store.js';
import { type KeyRing, keyIdOf, LONGEST_HEADER_BYTES, RINGS, type SealPurpose } from './vault.js';

interface Place {
  /** What follows the device, or the workspace, in the key. */
  keys: RegExp;
  /** In a hash: these fields, or all of them. Without it the key itself is the value. */
  fields?: readonly string[] | 'all';
  /** In base64. */
  isText?: true;
}

/** Where values lie that are sealed for each purpose: what is missing here would outlive its key. */
const PLACES: Record<SealPurpose, Place> = {
  account: { keys: /^creds(?::quarantined)?$/ },
  session: { keys: /^keys:.+:\d+$/, fields: 'all' },
  content: { keys: /^send:[^:]+$/, fields: ['content'] },
  reply: { keys: /^send:[^:]+$/, fields: ['reply'] },
  file: { keys: /^blob:[^:]+:\d+$/ },
  upload: { keys: /^blob-upload:/ },
  received: { keys: /^received$/, fields: 'all' },
  question: { keys: /^questions$/, fields: 'all', isText: true },
  repeat: { keys: /^idempotency:/, fields: ['fingerprint'] },
  idKey: { keys: /^device$/, fields: ['idKey'] },
  linkCode: { keys: /^observed$/, fields: ['code'], isText: true },
};

/** A value as it lies in Redis; unopened. */
interface SealedValue {
  purpose: SealPurpose;
  ring: KeyRing;
  keyId: string;
  key: string;
  /** Empty when the key itself is the value. */
  field: string;
  /** What it is bound to. */
  place: string;
  isText: boolean;
}

const KEYS_AT_ONCE = 500;
const FIELDS_AT_ONCE = 500;

/**
 * Everything that is sealed in this installation, a few hundred at a time, while all runs: what is there all the while is
 * among them, at times twice.
 */
export async function* findSealed(store: Store): AsyncGenerator<SealedValue[]> {
  let cursor = '0';
  do {
    const [next, keys] = await store.redis.scan(cursor, 'MATCH', `${store.space.prefix}:{*`, 'COUNT', KEYS_AT_ONCE);
    cursor = next;
    const places = keys.flatMap((key) => placesOf(store, key));
    const single = await Promise.all(
      places.filter(({ place }) => place.fields !== 'all').map((each) => readOne(store, each)),
    );
    yield single.flat();
    for (const each of places.filter(({ place }) => place.fields === 'all')) yield* readHash(store, each);
  } while (cursor !== '0');
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
    return value ? [toValue({ purpose, key, field, isText, keyId: keyIdOf(decode(value, isText)) })] : [];
  });
}

async function* readHash(store: Store, { purpose, place, key }: FoundPlace): AsyncGenerator<SealedValue[]> {
  const isText = place.isText === true;
  if (isText) {
    const all = Object.entries(await store.redis.hgetallBuffer(key));
    return yield all.map(([field, value]) =>
      toValue({ purpose, key, field, isText, keyId: keyIdOf(decode(value, true)) }),
    );
  }
  let cursor = '0';
  do {
    const [next, ...found] = (await store.run('list-sealed', [key], [cursor, FIELDS_AT_ONCE])) as [string, ...string[]];
    cursor = next;
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

function decode(value: Buffer, isText: boolean): Buffer {
  return isText ? Buffer.from(value.toString(), 'base64') : value;
}

type ResealOutcome = 'resealed' | 'gone' | 'unopened';

const MAX_ATTEMPTS = 10;

/**
 * Seals a value with the key that seals now. `gone`: it is not there, or was written with that key meanwhile; `unopened`:
 * no key here opens it. Safe to repeat, and beside other writers of the value.
 */
async function resealValue(store: Store, value: SealedValue): Promise<ResealOutcome> {
  const { key, field, purpose, place, ring, isText } = value;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const before = await (field === '' ? store.redis.getBuffer(key) : store.redis.hgetBuffer(key, field));
    if (!before) return 'gone';
    const sealed = decode(before, isText);
    if (keyIdOf(sealed) === store.vault.keyIds(ring)[0]) return 'gone';
    let after: Buffer;
    try {
      after = store.vault.reseal(sealed, purpose, place);
    } catch {
      return 'unopened';
    }
    const written = isText ? Buffer.from(after.toString('base64')) : after;
    if ((await store.run('reseal', [key], [field, before, written])) === 1) return 'resealed';
  }
  return 'unopened';
}

const AT_ONCE = 50;
const MAX_ROUNDS = 5;

interface ResealProgress {
  /** Values that were looked at in this round. */
  seen: number;
  resealed: number;
  /** In this round. */
  unopened: number;
}

/**
 * Seals everything with the first key of its ring, round after round until one finds nothing to do: processes that still
 * seal with another key write meanwhile. Can be stopped and repeated at any time.
 */
export async function resealAll(
  store: Store,
  { onProgress }: { onProgress: (progress: ResealProgress) => void },
): Promise<ResealProgress> {
  const progress: ResealProgress = { seen: 0, resealed: 0, unopened: 0 };
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const before = progress.resealed;
    Object.assign(progress, { seen: 0, unopened: 0 });
    for await (const values of findSealed(store)) {
      progress.seen += values.length;
      const due = values.filter(({ ring, keyId }) => keyId !== store.vault.keyIds(ring)[0]);
      for (let from = 0; from < due.length; from += AT_ONCE) {
        const outcomes = await Promise.all(due.slice(from, from + AT_ONCE).map((value) => resealValue(store, value)));
        progress.resealed += outcomes.filter((outcome) => outcome === 'resealed').length;
        progress.unopened += outcomes.filter((outcome) => outcome === 'unopened').length;
      }
      onProgress(progress);
    }
    if (progress.resealed === before) break;
  }
  return progress;
}

export interface KeyUse {
  ring: KeyRing;
  keyId: string;
  values: number;
  /** What this process does with it: the first key of a ring seals, the others open. */
  use: 'seals' | 'opens' | 'unknown';
}

/** How many values each key of each ring has sealed; keys that are configured and not used are among them. */
export async function countKeyUse(store: Store): Promise<KeyUse[]> {
  const uses = new Map<string, KeyUse>();
  const useOf = (ring: KeyRing, keyId: string): KeyUse => {
    const ids = store.vault.keyIds(ring);
    const use = ids[0] === keyId ? 'seals' : ids.includes(keyId) ? 'opens' : 'unknown';
    const found = uses.get(`${ring}/${keyId}`) ?? { ring, keyId, values: 0, use };
    uses.set(`${ring}/${keyId}`, found);
    return found;
  };
  for (const ring of ['credentials', 'contents'] as const)
    for (const keyId of store.vault.keyIds(ring)) useOf(ring, keyId);
  for await (const values of findSealed(store)) for (const { ring, keyId } of values) useOf(ring, keyId).values++;
  return [...uses.values()];
}
