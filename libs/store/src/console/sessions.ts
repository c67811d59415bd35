import { consoleKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { type Store, writeAlways } from '../core/store.js';
import { digestOf } from './digest.js';

const HOUR_MS = 60 * 60 * 1000;
/** A session that nobody uses ends after this, */
const IDLE_MS = 8 * HOUR_MS;
/** and every one after this. */
const END_MS = 7 * 24 * HOUR_MS;

/** Who is signed in, and what else is kept of it as JSON. */
export interface SessionRecord {
  user: string;
  createdAtMs: number;
  text: string;
}

/**
 * Writes a session under the SHA-256 of its id: Redis never holds what a cookie says. Also when Redis is full, as there are
 * no more of them than people who know a password.
 */
export async function writeSession(
  store: Store,
  id: string,
  { user, createdAtMs, text }: SessionRecord,
): Promise<void> {
  const keys = consoleKeys(store.space);
  const digest = digestOf(id);
  const ttlMs = leftMs(createdAtMs);
  if (ttlMs <= 0) return endSession(store, id);
  await writeAlways(store, 'SET', keys.session(digest), JSON.stringify({ user, createdAtMs, text }), 'PX', ttlMs);
  await writeAlways(store, 'SADD', keys.sessionsOf(user), digest);
  await writeAlways(store, 'PEXPIRE', keys.sessionsOf(user), END_MS);
}

export async function readSession(store: Store, id: string): Promise<SessionRecord | undefined> {
  const found = await store.redis.get(consoleKeys(store.space).session(digestOf(id)));
  if (found === null) return undefined;
  const record = JSON.parse(found) as SessionRecord;
  return leftMs(record.createdAtMs) > 0 ? record : undefined;
}

/** It is used: it lives on, but for no longer than any. Brings none back that has ended. */
export async function keepSession(store: Store, id: string, { createdAtMs }: { createdAtMs: number }): Promise<void> {
  await store.redis.pexpire(consoleKeys(store.space).session(digestOf(id)), leftMs(createdAtMs));
}

/** Safe to repeat. */
export async function endSession(store: Store, id: string): Promise<void> {
  const keys = consoleKeys(store.space);
  const digest = digestOf(id);
  const ended = await store.redis.getdel(keys.session(digest));
  if (ended !== null) await store.redis.srem(keys.sessionsOf((JSON.parse(ended) as SessionRecord).user), digest);
}

/** Every session of a user, wherever it was signed in. */
export async function endSessionsOf(store: Store, user: string): Promise<void> {
  const keys = consoleKeys(store.space);
  const digests = await store.redis.smembers(keys.sessionsOf(user));
  if (digests.length === 0) return;
  await store.redis.del(...digests.map(keys.session));
  // Not the whole set: a session may have begun meanwhile.
  await store.redis.srem(keys.sessionsOf(user), ...digests);
}

function leftMs(createdAtMs: number): number {
  return Math.min(IDLE_MS, createdAtMs + END_MS - systemClock.nowMs());
}
