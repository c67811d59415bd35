import { createHash } from 'node:crypto';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { ApiError } from '@gateway/runtime/errors';
import {
  findRepeat,
  isClaimed,
  type Repeat,
  type RepeatClaim,
  releaseRepeat,
} from '@gateway/store/sends/accepting/idempotency';
import { stringify } from 'safe-stable-stringify';
import type { ApiDeps } from '../api-deps.js';
import type { Answer, Call } from '../http/endpoint.js';

/** A request that may be retried: the place of its key, and its fingerprint. */
export interface RepeatKey {
  key: string;
  fingerprint: Buffer;
}

/** An earlier request under the same key, and the device that serves it. */
export interface FirstRequest extends Repeat {
  address: DeviceAddress;
  /** Where the key lies. */
  key: string;
  /** Whether it is still being handled: it has a record before it has an answer. */
  isHandled(): Promise<boolean>;
}

interface Handlers {
  /** Returns the answer of the first request with the same key, or what it would have been. */
  again(first: FirstRequest): Promise<Answer>;
  /** Handles a first request; with a key its record goes under `repeat`. */
  handle(repeat: RepeatKey | undefined): Promise<Answer>;
}

/**
 * Check 6: handles a request, but for a repeat of one that carried the same `Idempotency-Key`, whatever device the token
 * acts on by now. A first request that got no answer may have been accepted. Throws 422 for another request
 * under the same key, 409 while the first one is being handled.
 */
export async function handleOnce(
  { idempotencyKey: callersKey, address, token, body, inTurn }: Call<unknown, object>,
  deps: ApiDeps,
  { again, handle }: Handlers,
): Promise<Answer> {
  if (callersKey === undefined) return handle(undefined);
  const isBound = token.device !== undefined;
  const found = await findRepeat(deps.store, { owner: token.owner, keyId: token.keyId, callersKey, address, isBound });
  if (found.kind === 'claimed') throw inProgress();
  // The order of fields, at any depth, does not matter.
  const fingerprint = await inTurn(() => createHash('sha256').update(stringify(body)).digest());
  if (found.kind === 'free') return handleClaimed(deps, found.claim, () => handle({ key: found.key, fingerprint }));
  const { first, address: firstAddress, key, claimKey } = found;
  if (!first.fingerprint.equals(fingerprint)) throw new ApiError('idempotency_mismatch');
  const { headers, ...answer } = await again({
    ...{ ...first, address: firstAddress, key },
    isHandled: () => isClaimed(deps.store, claimKey),
  });
  return { ...answer, headers: { ...headers, 'Idempotency-Replayed': 'true' } };
}

async function handleClaimed({ store }: ApiDeps, claim: RepeatClaim, handle: () => Promise<Answer>): Promise<Answer> {
  try {
    return await handle();
  } finally {
    // Not awaited: the caller has waited long enough when Redis hangs, and a claim ends by itself.
    releaseRepeat(store, claim).catch(() => {});
  }
}

/** Of a request that runs, or ran, under the same key at the same time. */
export function inProgress(): ApiError {
  return new ApiError('idempotency_in_progress', { headers: { 'Retry-After': '1' } });
}
