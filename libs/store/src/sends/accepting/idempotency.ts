import { createHash, randomUUID } from 'node:crypto';
import type { DeviceAddress, MessageId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { connectionFor, writeTogether } from '../../core/confirming/write-together.js';
import { defineScript, number, text } from '../../core/scripts/define-script.js';
import { isOne, nothing, word } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import { WorkspaceGoneError } from '../../core/workspace-gone-error.js';

const placeStep = defineScript({
  name: 'place-repeat',
  whenFull: 'refused',
  keys: ['place', 'token?'],
  args: { wanted: text, from: text, ttlMs: number },
  reply: word,
});
const claimStep = defineScript({
  name: 'claim-repeat',
  whenFull: 'refused',
  keys: ['claim', 'device'],
  args: { token: text, ttlMs: number },
  reply: isOne,
});
const closeStep = defineScript({
  name: 'close-repeat',
  whenFull: 'refused',
  keys: ['idempotency', 'device'],
  args: { ttlMs: number },
  reply: isOne,
});
const releaseStep = defineScript({
  name: 'release-repeat',
  whenFull: 'runs',
  keys: ['claim'],
  args: { token: text },
  reply: isOne,
});
const settleStep = defineScript({
  name: 'settle-repeat',
  whenFull: 'runs',
  keys: ['idempotency'],
  args: { messageId: text, answer: text },
  reply: nothing,
});

/** What the key of a caller will stand for. */
export interface NewRepeat {
  /** From `findRepeat`. */
  key: string;
  /** Digest of the request: another one under the same key is a mistake of the caller. */
  fingerprint: Buffer;
  /** Repeated to the caller who repeats the request; without anything that may not lie open in Redis. */
  answer: Record<string, unknown>;
}

/** What the key of a caller stands for. */
export interface Repeat {
  messageId: MessageId;
  fingerprint: Buffer;
  answer: Record<string, unknown>;
}

/** Where the key of a caller lies. */
interface Place {
  address: DeviceAddress;
  /** In the slot of the device. */
  key: string;
}

export type FoundRepeat =
  /** Used in the last 24 hours. */
  | ({ kind: 'used'; first: Repeat; claimKey: string } & Place)
  /** Ours from now on: give it back with `releaseRepeat` when the request is handled. */
  | ({ kind: 'free'; claim: RepeatClaim } & Place)
  /** Another request under it is being handled. */
  | { kind: 'claimed' };

export interface RepeatClaim {
  key: string;
  token: string;
}

interface CallersKey {
  owner: string;
  /** Of the token of the caller. */
  keyId?: string;
  /** Only its digest is stored: it is the caller's choice. Two tokens never share one. */
  callersKey: string;
  /** The device to send from, if this is the first request under the key. */
  address: DeviceAddress;
  /** Whether the token acts on that device only; else on the default device, which may be another one tomorrow. */
  isBound: boolean;
}

/**
 * Of a process that died while it handled a request: until then repeats are told to come back. Fetching a file takes ten
 * seconds; a request that takes longer is still alone, as only one of them gets to write a send down.
 */
const CLAIM_TTL_MS = (LIMITS.attachmentFetchSeconds + 10) * 1000;

/** The place outlives what lies there: a request takes less from finding it to writing its send down. */
const PLACE_TTL_MS = (LIMITS.idempotencySeconds + 10 * 60) * 1000;

/**
 * Finds the send that a key stands for, once replicas have it, or claims the key for the request that asks.
 *
 * The key lies at a device, in its slot, so that one step checks it and writes the send down. For tokens that act on the
 * default device a place in the workspace's slot names that device: the one of the first request. When the default is
 * another one by now and the key stands for nothing, it moves: first it is closed where it lay, so that a request that is
 * still on its way there comes too late (`acceptSendOnce` refuses it), then the place is changed. Each move has a number
 * that is part of the key, so a closed key is never opened again. A process that dies in between has closed a key in vain: the
 * next request moves it. Throws `WorkspaceGoneError` when the workspace has been deleted since the caller was let in.
 */
export async function findRepeat(
  store: Store,
  { owner, keyId, callersKey, address, isBound }: CallersKey,
): Promise<FoundRepeat> {
  const digest = createHash('sha256').update(callersKey).digest('hex').slice(0, 32);
  const { workspace, device } = address;
  const shared = workspaceKeys(store.space, workspace);
  const placeKey = shared.idempotencyPlace(owner, digest);
  const token = keyId === undefined ? undefined : shared.token(keyId);
  // If a failover lost it, a repeat would be a first request, once the default device is another one.
  const place = async (wanted: string, from: string) => {
    const step = { place: placeKey, token, wanted, from, ttlMs: PLACE_TTL_MS };
    const held = await writeTogether(store, placeKey, () => placeStep(store, step));
    if (held === '') throw new WorkspaceGoneError();
    return held;
  };

  let current = isBound ? `0:${device}` : await place(`0:${device}`, '');
  for (;;) {
    const [move, at] = current.split(':') as [string, string];
    const found = { workspace, device: at };
    const keys = deviceKeys(store.space, found);
    const key = keys.idempotency(owner, digest, Number(move));
    const claimKey = keys.idempotencyClaim(owner, digest, Number(move));
    const since = await connectionFor(store, key);
    const state = await readRepeat(store, key);
    if (typeof state === 'object') {
      // The first request may have ended before replicas had it.
      await store.confirmWrites(key, since);
      return { kind: 'used', address: found, key, claimKey, first: state };
    }
    if (state === 'free' && at === device) {
      const claim = await claimRepeat(store, claimKey, keys.device);
      return claim ? { kind: 'free', address: found, key, claim } : { kind: 'claimed' };
    }
    if (state === 'free' && (await isClaimed(store, claimKey))) return { kind: 'claimed' };
    // Another request may have used the key in this moment: then it stays, and is read once more.
    const isClosed = await closeStep(store, { idempotency: key, device: keys.device, ttlMs: PLACE_TTL_MS });
    if (!isClosed) continue;
    // A master that was replaced lacks what was accepted under the key since: by the move a repeat would be a first request.
    await store.confirmWrites(key, since);
    current = await place(`${Number(move) + 1}:${device}`, current);
  }
}

async function claimRepeat(store: Store, key: string, device: string): Promise<RepeatClaim | undefined> {
  const token = randomUUID();
  const isOurs = await claimStep(store, { claim: key, device, token, ttlMs: CLAIM_TTL_MS });
  return isOurs ? { key, token } : undefined;
}

/** Whether a request under the key is being handled, or its process died a moment ago. */
export async function isClaimed(store: Store, claimKey: string): Promise<boolean> {
  return (await store.redis.exists(claimKey)) === 1;
}

/** The request is handled, well or not. Safe to repeat. */
export async function releaseRepeat(store: Store, { key, token }: RepeatClaim): Promise<void> {
  await releaseStep(store, { claim: key, token });
}

async function readRepeat(store: Store, key: string): Promise<Repeat | 'free' | 'closed'> {
  const { messageId, fingerprint, answer, closed } = await store.redis.hgetallBuffer(key);
  if (!messageId || !fingerprint || !answer) return closed ? 'closed' : 'free';
  return {
    messageId: messageId.toString(),
    fingerprint: store.vault.open(fingerprint, 'repeat', `${key}/fingerprint`),
    answer: JSON.parse(answer.toString()),
  };
}

/** From now on a repeat gets this answer. Nothing happens when the key is forgotten, or stands for another send. */
export async function keepAnswer(
  store: Store,
  { key, messageId, answer }: { key: string; messageId: MessageId; answer: Record<string, unknown> },
): Promise<void> {
  await settleStep(store, { idempotency: key, messageId, answer: JSON.stringify(answer) });
}

/** The request failed: only successes are kept, and its repeat is a new request. */
export async function forgetRepeat(store: Store, key: string, messageId: MessageId): Promise<void> {
  await settleStep(store, { idempotency: key, messageId, answer: '' });
}

/**
 * The arguments of `accept-send`. The fingerprint is sealed: lying open, it would let anyone who reads Redis try out
 * which of a million codes it was made from.
 */
export function repeatFields(store: Store, { key, fingerprint, answer }: NewRepeat) {
  const sealed = store.vault.seal(fingerprint, 'repeat', `${key}/fingerprint`);
  return { idempotency: key, fingerprint: sealed, answer: JSON.stringify(answer) };
}
