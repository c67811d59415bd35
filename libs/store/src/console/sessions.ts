import { consoleKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { readSurely, writeTogether } from '../core/confirming/write-together.js';
import { type Store, writeAlways } from '../core/store.js';
import { digestOf } from './digest.js';

const HOUR_MS = 60 * 60 * 1000;
/** An unused session ends after this, */
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

/** Those of a user that have not ended, the newest first. `digest` leads to nothing; `usedAtMs`: its last use, unless it ends soon. */
export async function listSessions(
  store: Store,
  user: string,
): Promise<{ digest: string; usedAtMs?: number; record: SessionRecord }[]> {
  const keys = consoleKeys(store.space);
  const digests = await store.redis.smembers(keys.sessionsOf(user));
  const nowMs = systemClock.nowMs();
  const found = await Promise.all(
    digests.map(async (digest) => {
      const [text, ttlMs] = await Promise.all([
        store.redis.get(keys.session(digest)),
        store.redis.pttl(keys.session(digest)),
      ]);
      if (text === null || ttlMs < 0) return undefined;
      const record = JSON.parse(text) as SessionRecord;
      // Late in its life the end of every session is nearer than that of idle ones, and says nothing of its use.
      const isLate = record.createdAtMs + END_MS - nowMs <= IDLE_MS;
      return { digest, record, ...(!isLate && { usedAtMs: nowMs - IDLE_MS + ttlMs }) };
    }),
  );
  const alive = found.filter((session) => session !== undefined);
  return alive.sort((one, other) => other.record.createdAtMs - one.record.createdAtMs);
}

/** It is used: it lives on, but for no longer than any. Brings none back that has ended. */
export async function keepSession(store: Store, id: string, { createdAtMs }: { createdAtMs: number }): Promise<void> {
  await store.redis.pexpire(consoleKeys(store.space).session(digestOf(id)), leftMs(createdAtMs));
}

/** Also after a failover: throws `not_confirmed` where it has ended, and replicas do not say so. Without it nothing waits for them. */
export async function endSession(store: Store, id: string): Promise<void> {
  const keys = consoleKeys(store.space);
  const digest = digestOf(id);
  const session = keys.session(digest);
  const end = async () => {
    // Not at once: asked again by its client, as the answer was lost, it would not be there, and nothing would wait for replicas.
    const ended = await store.redis.get(session);
    if (ended === null) return ended;
    await store.redis.del(session);
    await store.redis.srem(keys.sessionsOf((JSON.parse(ended) as SessionRecord).user), digest);
    return ended;
  };
  await readSurely(store, session, { read: end, isAnything: (ended) => ended !== null });
}

/** Every session of a user, wherever it was signed in, and after a failover. Safe to repeat. */
export async function endSessionsOf(store: Store, user: string): Promise<void> {
  const keys = consoleKeys(store.space);
  const sessions = keys.sessionsOf(user);
  await writeTogether(store, sessions, async () => {
    const digests = await store.redis.smembers(sessions);
    if (digests.length === 0) return;
    await store.redis.del(...digests.map(keys.session));
    // Not the whole set: a session may have begun meanwhile.
    await store.redis.srem(sessions, ...digests);
  });
}

function leftMs(createdAtMs: number): number {
  return Math.min(IDLE_MS, createdAtMs + END_MS - systemClock.nowMs());
}
