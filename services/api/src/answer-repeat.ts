import { createHash } from 'node:crypto';
import { ApiError } from '@gateway/runtime/errors';
import { findRepeat, idempotencyKey, type Repeat } from '@gateway/store/idempotency';
import { readSend } from '@gateway/store/read-send';
import { stringify } from 'safe-stable-stringify';
import type { ApiDeps } from './api-deps.js';
import type { Answer, Call } from './endpoint.js';
import { promiseSend } from './promise-send.js';

/** One request that may be repeated: the caller's key, and what was asked for under it. */
export interface RepeatKey {
  key: string;
  fingerprint: Buffer;
}

/** Longer than any request takes from its record to its answer: each of its steps ends within two seconds. */
const HANDLED_WITHIN_MS = 10_000;

/** `undefined` when the caller gave no `Idempotency-Key`. */
export function repeatKeyOf(
  { idempotencyKey: callersKey, address, token, body }: Call<unknown, object>,
  { store }: ApiDeps,
): RepeatKey | undefined {
  if (callersKey === undefined) return undefined;
  return {
    key: idempotencyKey(store, address, token.keyId, callersKey),
    // The order of fields, at any depth, is no part of what was asked for.
    fingerprint: createHash('sha256').update(stringify(body)).digest(),
  };
}

/** Check 6: a repeat gets the first answer again, also when the device is down by now. Throws as `findFirst` does. */
export async function answerRepeat(
  call: Call<unknown, object>,
  deps: ApiDeps,
  repeat: RepeatKey,
  status: number,
): Promise<Answer | undefined> {
  const first = await findFirst(call, deps, repeat);
  return first && replayed({ status, body: { messageId: first.messageId, ...first.answer } });
}

/**
 * What the first request under this key has led to; `undefined` when this is the first. What it wrote down but did not
 * live to promise is promised now. Throws 422 for another request under the same key, 409 while the first one is being
 * handled.
 */
export async function findFirst(
  call: Call<unknown, object>,
  deps: ApiDeps,
  { key, fingerprint }: RepeatKey,
): Promise<Repeat | undefined> {
  const first = await findRepeat(deps.store, key);
  if (!first) return undefined;
  if (!first.fingerprint.equals(fingerprint)) throw new ApiError('idempotency_mismatch');
  await completeFirst(call, deps, first);
  return first;
}

/** Marks an answer as that of an earlier request. */
export function replayed(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, 'Idempotency-Replayed': 'true' } };
}

/** Of a request that runs, or ran, under the same key at the same time. */
export function inProgress(): ApiError {
  return new ApiError('idempotency_in_progress', { headers: { 'Retry-After': '1' } });
}

async function completeFirst({ address }: Call<unknown, object>, deps: ApiDeps, { messageId }: Repeat): Promise<void> {
  const send = await readSend(deps.store, address, messageId);
  if (send?.state !== 'accepting') return;
  if (deps.clock.nowMs() - send.createdAtMs < HANDLED_WITHIN_MS) throw inProgress();
  await promiseSend(deps, address, {
    messageId,
    requestId: send.requestId,
    priority: send.kind === 'otp' ? 'otp' : 'bulk',
  });
}
