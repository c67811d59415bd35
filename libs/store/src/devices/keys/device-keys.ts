import { crc32 } from 'node:zlib';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { bytes, defineScript, mixed, number, type ScriptArgument, text } from '../../core/scripts/define-script.js';
import { isOne, nothing, numeric } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { MS_PER_DAY } from '../../core/vault.js';
import { outboxOf } from '../../events/outbox-of.js';
import type { Ownership } from '../../fleet/ownership.js';

/** Keys are spread over this many hashes per type, so that no single one grows past what Redis moves at once. */
export const BUCKETS = 256;

const commitKeys = defineScript({
  name: 'commit-keys',
  whenFull: 'runs',
  isFenced: true,
  keys: ['creds', 'keyBuckets', 'contactIndex', '...buckets'],
  args: { newCreds: bytes, contactCount: number, '...changes': mixed },
  reply: nothing,
});
const findUnused = defineScript({
  name: 'find-unused-keys',
  whenFull: 'runs',
  keys: ['...buckets'],
  args: { day: number, '...pages': mixed },
  reply: (reply) => reply as [next: string, ...ids: string[]][],
});
const forgetSessionStep = defineScript({
  name: 'forget-session',
  whenFull: 'runs',
  isFenced: true,
  keys: ['sessions', 'identities', 'tokens', 'contactIndex'],
  args: { sessionId: text, contact: text, day: number },
  reply: isOne,
});
/** How many of some names were forgotten. */
export const forgetUnkeptNames = defineScript({
  name: 'forget-names',
  whenFull: 'runs',
  isFenced: true,
  keys: ['contactIndex', '...buckets'],
  args: { day: number, '...names': mixed },
  reply: numeric,
});
const retireStep = defineScript({
  name: 'retire-keys',
  whenFull: 'runs',
  isFenced: true,
  keys: [
    'creds',
    'quarantined',
    'keyBuckets',
    'contactIndex',
    'restriction',
    'refused',
    'queryEnds',
    'replaced',
    'outbox',
    '...buckets',
  ],
  args: { quarantineMs: number, nowMs: number },
  reply: nothing,
});

export interface KeyChange {
  type: string;
  id: string;
  /** `null` deletes. */
  value: Uint8Array | null;
}

/**
 * The keys of one device, sealed, as its owner reads and writes them: the key store port of libs/messenger.
 * Reads throw when a value cannot be opened; writes throw `FencedError` when the ownership has passed on.
 */
export function deviceKeyStore(store: Store, ownership: Ownership) {
  const { address } = ownership;
  const keys = deviceKeys(store.space, address);
  const bucketKey = (type: string, id: string) => keys.keyBucket(type, bucketOf(id));

  return {
    async readCreds(): Promise<string | undefined> {
      const sealed = await store.redis.getBuffer(keys.creds);
      return sealed ? store.vault.open(sealed, 'account', keys.creds).toString() : undefined;
    },

    async read(type: string, ids: readonly string[]): Promise<Map<string, Uint8Array>> {
      const found = new Map<string, Uint8Array>();
      await Promise.all(
        ids.map(async (id) => {
          const key = bucketKey(type, id);
          const sealed = await store.redis.hgetBuffer(key, id);
          if (sealed) found.set(id, store.vault.open(sealed, 'session', `${key}/${id}`));
        }),
      );
      return found;
    },

    async commit(changes: { creds?: string; keys?: KeyChange[]; contacts?: string[] }): Promise<void> {
      const buckets = new Map<string, number>();
      const fields: ScriptArgument[] = [];
      for (const { type, id, value } of changes.keys ?? []) {
        const key = bucketKey(type, id);
        if (!buckets.has(key)) buckets.set(key, buckets.size + 1);
        const sealed = value === null ? '' : store.vault.seal(value, 'session', `${key}/${id}`);
        fields.push(buckets.get(key)!, `${type}:${bucketOf(id)}`, id, sealed);
      }
      const creds = changes.creds === undefined ? '' : store.vault.seal(changes.creds, 'account', keys.creds);
      const contacts = changes.contacts ?? [];
      await commitKeys(store, ownership, {
        creds: keys.creds,
        ...{ keyBuckets: keys.keyBuckets, contactIndex: keys.contactIndex },
        ...{ buckets: [...buckets.keys()], newCreds: creds },
        ...{ contactCount: contacts.length, changes: [...contacts, ...fields] },
      });
    },

    /** The ids of contacts with a privacy token. */
    async readContactIndex(): Promise<string[]> {
      return store.redis.smembers(keys.contactIndex);
    },
  };
}

/** Where a walk over all keys of a type is. */
export interface KeyCursor {
  bucket: number;
  /** Of Redis, inside the bucket. */
  at: string;
}

/** Any start is fine: a walk wraps around. */
export function anyKeyCursor(): KeyCursor {
  return { bucket: Math.floor(Math.random() * BUCKETS), at: '0' };
}

/** A walk over a device's keys of a type. */
export interface KeyWalk {
  type: string;
  cursor: KeyCursor;
  /** About so many keys are looked at in a step, at most those of one bucket. */
  limit: number;
}

/**
 * The next step of some walks: the ids of keys that were not written since `beforeMs`, and where each walk goes on, in order.
 * Whole days are compared. Safe to repeat.
 */
export async function findUnusedKeys(
  store: Store,
  address: DeviceAddress,
  { walks, beforeMs }: { walks: readonly KeyWalk[]; beforeMs: number },
): Promise<{ ids: string[]; next: KeyCursor }[]> {
  const keys = deviceKeys(store.space, address);
  const buckets = walks.map(({ type, cursor }) => keys.keyBucket(type, cursor.bucket));
  const pages = walks.flatMap(({ cursor, limit }) => [cursor.at, limit]);
  const found = await findUnused(store, { buckets, day: Math.floor(beforeMs / MS_PER_DAY), pages });
  return found.map(([at, ...ids], index) => {
    const { bucket } = walks[index]!.cursor;
    return { ids, next: { bucket: at === '0' ? (bucket + 1) % BUCKETS : bucket, at } };
  });
}

/**
 * Forgets a session and the identity that belongs to it, unless it was written since `beforeMs`; with `contact`, the jid
 * of the account whose phone it is of, the privacy token too unless that was. Safe to repeat.
 * Throws `FencedError` for a stale owner.
 */
export async function forgetSession(
  store: Store,
  ownership: Ownership,
  { id, contact = '', beforeMs }: { id: string; contact?: string | undefined; beforeMs: number },
): Promise<boolean> {
  const keys = deviceKeys(store.space, ownership.address);
  return forgetSessionStep(store, ownership, {
    sessions: keys.keyBucket('session', bucketOf(id)),
    identities: keys.keyBucket('identity-key', bucketOf(id)),
    tokens: keys.keyBucket('tctoken', bucketOf(contact)),
    contactIndex: keys.contactIndex,
    ...{ sessionId: id, contact, day: Math.floor(beforeMs / MS_PER_DAY) },
  });
}

/**
 * Forgets, of these identities, those that were not written since `beforeMs` and belong to no session: one under a number
 * stays behind when its session moves to a hidden identifier. Answers how many; safe to repeat. Throws `FencedError` for a
 * stale owner.
 */
export async function forgetIdentities(
  store: Store,
  ownership: Ownership,
  { ids, beforeMs }: { ids: readonly string[]; beforeMs: number },
): Promise<number> {
  if (ids.length === 0) return 0;
  const keys = deviceKeys(store.space, ownership.address);
  const buckets = ids.flatMap((id) => ['identity-key', 'session'].map((type) => keys.keyBucket(type, bucketOf(id))));
  const names = ids.flatMap((id, index) => [2 * index + 1, id, 1, 2 * index + 2, id]);
  const day = Math.floor(beforeMs / MS_PER_DAY);
  return forgetUnkeptNames(store, ownership, { contactIndex: keys.contactIndex, buckets, day, names });
}

/** Every key of a device, for a copy of all of them: one hash of Redis after the other, in no order. */
export async function* readAllKeys(
  store: Store,
  address: DeviceAddress,
): AsyncGenerator<{ type: string; id: string; value: Uint8Array }> {
  for (const name of await store.redis.smembers(deviceKeys(store.space, address).keyBuckets)) {
    const key = toBucketKey(store, address, name);
    for (const [id, sealed] of Object.entries(await store.redis.hgetallBuffer(key))) {
      yield {
        type: name.slice(0, name.lastIndexOf(':')),
        id,
        value: store.vault.open(sealed, 'session', `${key}/${id}`),
      };
    }
  }
}

/** How long credentials of an account that was logged out from outside are kept aside. */
const QUARANTINE_MS = 7 * 24 * 60 * 60 * 1000;

/** The account is gone: its keys too. `quarantine` keeps the credentials aside for investigations. */
export async function retireKeys(store: Store, ownership: Ownership, options: { quarantine: boolean }): Promise<void> {
  const keys = deviceKeys(store.space, ownership.address);
  const buckets = (await store.redis.smembers(keys.keyBuckets)).map((name) =>
    toBucketKey(store, ownership.address, name),
  );
  await retireStep(store, ownership, {
    ...keys,
    ...{ quarantined: keys.quarantinedCreds, refused: keys.refusedContacts, buckets },
    ...{ outbox: outboxOf(store, ownership.address), nowMs: systemClock.nowMs() },
    quarantineMs: options.quarantine ? QUARANTINE_MS : 0,
  });
}

function toBucketKey(store: Store, address: DeviceAddress, name: string): string {
  const at = name.lastIndexOf(':');
  return deviceKeys(store.space, address).keyBucket(name.slice(0, at), Number(name.slice(at + 1)));
}

/** The hash, among those of a type, that holds an id. */
export function bucketOf(id: string): number {
  return crc32(id) % BUCKETS;
}

/** How many contacts there is a privacy token with. */
export async function countContactTokens(store: Store, address: DeviceAddress): Promise<number> {
  return store.redis.scard(deviceKeys(store.space, address).contactIndex);
}
