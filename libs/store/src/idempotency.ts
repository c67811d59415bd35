import { createHash } from 'node:crypto';
import type { DeviceAddress, MessageId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import type { ScriptArgument } from './load-scripts.js';
import type { Store } from './store.js';

/** What the key of a caller will stand for. */
export interface NewRepeat {
  /** From `idempotencyKey`. */
  key: string;
  /** Digest of the request: another one under the same key is a mistake of the caller. */
  fingerprint: Buffer;
  /** Repeated to whoever repeats the request; without anything that may not lie open in Redis. */
  answer: Record<string, unknown>;
}

/** What the key of a caller stands for. */
export interface Repeat {
  messageId: MessageId;
  fingerprint: Buffer;
  answer: Record<string, unknown>;
}

/** Keys are the caller's choice: only their digest is stored. Two tokens never share one. */
export function idempotencyKey(store: Store, address: DeviceAddress, tokenId: string, callersKey: string): string {
  const digest = createHash('sha256').update(callersKey).digest('hex').slice(0, 32);
  return deviceKeys(store.space, address).idempotency(tokenId, digest);
}

/** `undefined` for a key that was not used in the last 24 hours. */
export async function findRepeat(store: Store, key: string): Promise<Repeat | undefined> {
  const { messageId, fingerprint, answer } = await store.redis.hgetallBuffer(key);
  if (!messageId || !fingerprint || !answer) return undefined;
  return {
    messageId: messageId.toString(),
    fingerprint: store.vault.open(fingerprint, `${key}/fingerprint`),
    answer: JSON.parse(answer.toString()),
  };
}

/** From now on a repeat gets this answer. Nothing happens when the key is forgotten, or stands for another send. */
export async function keepAnswer(
  store: Store,
  { key, messageId, answer }: { key: string; messageId: MessageId; answer: Record<string, unknown> },
): Promise<void> {
  await store.run('settle-repeat', [key], [messageId, JSON.stringify(answer)]);
}

/** The request failed: only successes are kept, and its repeat is a new request. */
export async function forgetRepeat(store: Store, key: string, messageId: MessageId): Promise<void> {
  await store.run('settle-repeat', [key], [messageId, '']);
}

/**
 * The arguments of `accept-send`. The fingerprint is sealed: lying open, it would let anyone who reads Redis try out
 * which of a million codes it was made from.
 */
export function repeatFields(store: Store, { key, fingerprint, answer }: NewRepeat): ScriptArgument[] {
  const sealed = store.vault.seal(fingerprint, `${key}/fingerprint`);
  return [LIMITS.idempotencySeconds * 1000, sealed, JSON.stringify(answer)];
}
