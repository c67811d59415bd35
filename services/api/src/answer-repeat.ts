import { createHash } from 'node:crypto';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { ApiError } from '@gateway/runtime/errors';
import { findRepeat, type Repeat } from '@gateway/store/idempotency';
import { readSend } from '@gateway/store/read-send';
import { stringify } from 'safe-stable-stringify';
import type { ApiDeps } from './api-deps.js';
import type { Answer, Call } from './endpoint.js';
import { promiseSend } from './promise-send.js';

/** One request that may be repeated: where its key lies, and what was asked for under it. */
export interface RepeatKey {
  key: string;
  fingerprint: Buffer;
}

/** An earlier request under the same key, and the device that serves it. */
export interface FirstRequest extends Repeat {
  address: DeviceAddress;
  /** Where the key lies. */
  key: string;
}

/** Longer than any request takes from its record to its answer: each of its steps ends within two seconds. */
const HANDLED_WITHIN_MS = 10_000;

/**
 * Check 6: what the first request under the caller's `Idempotency-Key` has led to, whatever the device that the token
 * acts on by now; or, when this is the first, what to record it with. Nothing without such a header. What a first request
 * wrote down but did not live to promise is promised now. Throws 422 for another request under the same key, 409 while
 * the first one is being handled.
 */
export async function findFirst(
  { idempotencyKey: callersKey, address, token, body }: Call<unknown, object>,
  deps: ApiDeps,
): Promise<{ first?: FirstRequest; repeat?: RepeatKey }> {
  if (callersKey === undefined) return {};
  const isBound = token.device !== undefined;
  const { first, ...place } = await findRepeat(deps.store, { tokenId: token.keyId, callersKey, address, isBound });
  // The order of fields, at any depth, is no part of what was asked for.
  const fingerprint = createHash('sha256').update(stringify(body)).digest();
  if (!first) return { repeat: { key: place.key, fingerprint } };
  if (!first.fingerprint.equals(fingerprint)) throw new ApiError('idempotency_mismatch');
  await completeFirst(place.address, deps, first);
  return { first: { ...first, ...place } };
}

/** Marks an answer as that of an earlier request. */
export function replayed(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, 'Idempotency-Replayed': 'true' } };
}

/** Of a request that runs, or ran, under the same key at the same time. */
export function inProgress(): ApiError {
  return new ApiError('idempotency_in_progress', { headers: { 'Retry-After': '1' } });
}

async function completeFirst(address: DeviceAddress, deps: ApiDeps, { messageId }: Repeat): Promise<void> {
  const send = await readSend(deps.store, address, messageId);
  if (send?.state !== 'accepting') return;
  if (deps.clock.nowMs() - send.createdAtMs < HANDLED_WITHIN_MS) throw inProgress();
  await promiseSend(deps, address, {
    messageId,
    requestId: send.requestId,
    priority: send.kind === 'otp' ? 'otp' : 'bulk',
  });
}
