import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { type Connections, connectionsTo } from '@gateway/runtime/redis/server-of';
import type { Redis } from 'ioredis';
import type { Store } from '../store.js';

/**
 * Several writes in the slot of a key, and one question to replicas about all of them: resolves once they have them. Throws
 * `not_confirmed` also when another master came in between: it may not have the first ones, and is asked about the last.
 */
export async function writeTogether<Result>(store: Store, key: string, write: () => Promise<Result>): Promise<Result> {
  const since = await connectionFor(store, key);
  const result = await write();
  await store.confirmWrites(key, since);
  return result;
}

/**
 * What is read in the slot of a key, once replicas have it, if it is anything. Throws `not_confirmed` also when another master came in
 * between: it may not have what was read.
 */
export async function readSurely<Result>(
  store: Store,
  key: string,
  { read, isAnything }: { read: () => Promise<Result>; isAnything: (result: Result) => boolean },
): Promise<Result> {
  const since = await connectionFor(store, key);
  const result = await read();
  if (isAnything(result)) await store.confirmWrites(key, since);
  return result;
}

/**
 * The same of what is looked for until it is there: looking costs no more than reading, and what it finds is read once more, and asked
 * about.
 */
export async function findSurely<Result>(
  store: Store,
  key: string,
  options: { read: () => Promise<Result>; isAnything: (result: Result) => boolean },
): Promise<Result> {
  const result = await options.read();
  return store.asksReplicas && options.isAnything(result) ? readSurely(store, key, options) : result;
}

/** None where no master is known, for which a write may wait. */
export async function connectionFor(
  { redis, asksReplicas }: Pick<Store, 'redis' | 'asksReplicas'>,
  key: string,
): Promise<Connections> {
  let master: Redis;
  try {
    master = masterOfKey(redis, key);
  } catch {
    return new Map();
  }
  return connectionsTo([master], { asksHistory: asksReplicas });
}
