import { randomBytes } from 'node:crypto';
import { consoleKeys } from '@gateway/contracts/redis-keys';
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

/** The user whom the secret signs in; it does so no more. */
export async function takeOneTimeLink(store: Store, secret: string): Promise<User | undefined> {
  const value = await store.redis.getdel(consoleKeys(store.space).oneTimeLink(digestOf(secret)));
  const [, createdAtMs, name] = /^(\d+):(.+)$/.exec(value ?? '') ?? [];
  const user = name === undefined ? undefined : await findUser(store, name);
  return user?.createdAtMs === Number(createdAtMs) ? user : undefined;
}
