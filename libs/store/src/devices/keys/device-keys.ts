import { crc32 } from 'node:zlib';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { FencedError } from '@gateway/runtime/errors';
import type { ScriptArgument } from '../../core/load-scripts.js';
import type { Store } from '../../core/store.js';
import { MS_PER_DAY } from '../../core/vault.js';
import type { Lease } from '../../fleet/leases.js';

/** Keys are spread over this many hashes per type, so that no single one grows past what Redis moves at once. */
export const BUCKETS = 256;

export interface KeyChange {
  type: string;
  id: string;
  /** `null` deletes. */
  value: Uint8Array | null;
}

/**
 * The keys of one device, sealed, as its owner reads and writes them: the key store port of libs/messenger.
 * Reads throw when a value cannot be opened; writes throw `FencedError` when the lease has passed on.
 */
export function deviceKeyStore(store: Store, lease: Lease) {
  const { address } = lease;
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
      const reply = await store.run(
        'commit-keys',
        [keys.lease, keys.creds, keys.keyBuckets, keys.contactIndex, ...buckets.keys()],
        [lease.token, creds, contacts.length, ...contacts, ...fields],
      );
      if (reply === 'fenced') throw new FencedError({ step: 'commit keys' });
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

/** Any beginning will do: a walk goes round. */
export function anyKeyCursor(): KeyCursor {
  return { bucket: Math.floor(Math.random() * BUCKETS), at: '0' };
}

/**
 * One step of a walk over a device's keys of a type: the ids of about `limit`, at most of one bucket, that were not
 * written since `beforeMs`. Whole days are compared. Safe to repeat.
 */
export async function findUnusedKeys(
  store: Store,
  address: DeviceAddress,
  { type, cursor, limit, beforeMs }: { type: string; cursor: KeyCursor; limit: number; beforeMs: number },
): Promise<{ ids: string[]; next: KeyCursor }> {
  const bucket = deviceKeys(store.space, address).keyBucket(type, cursor.bucket);
  const day = Math.floor(beforeMs / MS_PER_DAY);
  const [at, ...ids] = (await store.run('find-unused-keys', [bucket], [cursor.at, limit, day])) as [string];
  return { ids, next: at === '0' ? { bucket: (cursor.bucket + 1) % BUCKETS, at } : { bucket: cursor.bucket, at } };
}

/**
 * Forgets a session and the identity that belongs to it, unless it was written since `beforeMs`; with `contact`, the jid
 * of the account whose phone it is of, the privacy token too unless that was. Safe to repeat.
 * Throws `FencedError` for a stale owner.
 */
export async function forgetSession(
  store: Store,
  lease: Lease,
  { id, contact = '', beforeMs }: { id: string; contact?: string | undefined; beforeMs: number },
): Promise<boolean> {
  const keys = deviceKeys(store.space, lease.address);
  const places = [
    ...[keys.lease, keys.keyBucket('session', bucketOf(id)), keys.keyBucket('identity-key', bucketOf(id))],
    ...[keys.keyBucket('tctoken', bucketOf(contact)), keys.contactIndex],
  ];
  const args = [lease.token, id, contact, Math.floor(beforeMs / MS_PER_DAY)];
  const forgotten = await store.run('forget-session', places, args);
  if (forgotten === -1) throw new FencedError({ step: 'forget session' });
  return forgotten === 1;
}

/**
 * Forgets, of these identities, those that were not written since `beforeMs` and belong to no session: one under a number
 * stays behind when its session moves to a hidden identifier. Answers how many; safe to repeat. Throws `FencedError` for a
 * stale owner.
 */
export async function forgetIdentities(
  store: Store,
  lease: Lease,
  { ids, beforeMs }: { ids: readonly string[]; beforeMs: number },
): Promise<number> {
  if (ids.length === 0) return 0;
  const keys = deviceKeys(store.space, lease.address);
  const buckets = ids.flatMap((id) => ['identity-key', 'session'].map((type) => keys.keyBucket(type, bucketOf(id))));
  const places = ids.flatMap((id, index) => [2 * index + 1, id, 1, 2 * index + 2, id]);
  const args = [lease.token, Math.floor(beforeMs / MS_PER_DAY), ...places];
  const forgotten = Number(await store.run('forget-names', [keys.lease, keys.contactIndex, ...buckets], args));
  if (forgotten === -1) throw new FencedError({ step: 'forget identities' });
  return forgotten;
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

/** The account is gone: its keys too. `quarantine` keeps the credentials aside for whoever investigates. */
export async function retireKeys(store: Store, lease: Lease, options: { quarantine: boolean }): Promise<void> {
  const keys = deviceKeys(store.space, lease.address);
  const buckets = (await store.redis.smembers(keys.keyBuckets)).map((name) => toBucketKey(store, lease.address, name));
  const reply = await store.run(
    'retire-keys',
    [
      ...[keys.lease, keys.creds, keys.quarantinedCreds, keys.keyBuckets, keys.contactIndex],
      ...[keys.restriction, keys.refusedContacts, keys.queryEnds, keys.replaced],
      ...buckets,
    ],
    [lease.token, options.quarantine ? QUARANTINE_MS : 0],
  );
  if (reply === 'fenced') throw new FencedError({ step: 'retire keys' });
}

function toBucketKey(store: Store, address: DeviceAddress, name: string): string {
  const at = name.lastIndexOf(':');
  return deviceKeys(store.space, address).keyBucket(name.slice(0, at), Number(name.slice(at + 1)));
}

/** Which of a type's hashes an id lies in. */
export function bucketOf(id: string): number {
  return crc32(id) % BUCKETS;
}

/** How many contacts there is a privacy token with. */
export async function countContactTokens(store: Store, address: DeviceAddress): Promise<number> {
  return store.redis.scard(deviceKeys(store.space, address).contactIndex);
}
