import { randomBytes } from 'node:crypto';
import { consoleKeys } from '@gateway/contracts/redis-keys';
import { readSurely } from '../core/confirming/write-together.js';
import { type Store, writeAlways } from '../core/store.js';
import { digestOf } from './digest.js';
import { findUser, type User } from './users.js';

const LINK_MS = 10 * 60 * 1000;

/**
 * A secret that signs this user in, once, within ten minutes. It is returned this once: only its hash is stored. Throws without such
 * a user.
 */
export async function createOneTimeLink(store: Store, name: string): Promise<string> {
  const user = await findUser(store, name);
  if (!user) throw new Error(`there is no user ${name}`);
  const secret = randomBytes(32).toString('base64url');
  // The time says which user of that name: a later one is another person.
  const value = `${user.createdAtMs}:${name}`;
  await writeAlways(store, 'SET', consoleKeys(store.space).oneTimeLink(digestOf(secret)), value, 'PX', LINK_MS);
  return secret;
}

/** The user whom the secret signs in; it does so no more, also after a failover. Throws `not_confirmed` until replicas say so. */
export async function takeOneTimeLink(store: Store, secret: string): Promise<User | undefined> {
  const key = consoleKeys(store.space).oneTimeLink(digestOf(secret));
  // First: none is used up while no replica is there.
  await store.confirmWrites(key);
  const take = () => store.redis.getdel(key);
  const value = await readSurely(store, key, { read: take, isAnything: (found) => found !== null });
  const [, createdAtMs, name] = /^(\d+):(.+)$/.exec(value ?? '') ?? [];
  const user = name === undefined ? undefined : await findUser(store, name);
  return user?.createdAtMs === Number(createdAtMs) ? user : undefined;
}
