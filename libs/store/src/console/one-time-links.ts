import { randomBytes } from 'node:crypto';
import { consoleKeys } from '@gateway/contracts/redis-keys';
import { type Store, writeAlways } from '../core/store.js';
import { digestOf } from './digest.js';

const LINK_MS = 10 * 60 * 1000;

/** A secret that signs this user in, once, within ten minutes. It is returned this once: only its hash is stored. */
export async function createOneTimeLink(store: Store, user: string): Promise<string> {
  const secret = randomBytes(32).toString('base64url');
  await writeAlways(store, 'SET', consoleKeys(store.space).oneTimeLink(digestOf(secret)), user, 'PX', LINK_MS);
  return secret;
}

/** Whom the secret signs in; it does so no more. */
export async function takeOneTimeLink(store: Store, secret: string): Promise<string | undefined> {
  return (await store.redis.getdel(consoleKeys(store.space).oneTimeLink(digestOf(secret)))) ?? undefined;
}
