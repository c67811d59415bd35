import { type DeviceAddress, makeQuestionId } from '@gateway/contracts/ids';
import { ApiError } from '@gateway/runtime/errors';
import { type AskedQuestion, askOwner as ask, forgetQuestion, readOwnerAnswer } from '@gateway/store/owner-questions';
import { MS_PER_DAY } from '@gateway/store/vault';
import type { ApiDeps } from './api-deps.js';
import { type Wait, waitFor } from './wait-for.js';

export interface OwnerCall<Found> extends Pick<Wait<Found>, 'timeoutMs' | 'signal'>, Omit<AskedQuestion, 'id'> {
  /** Called with the parts of the answer so far; anything but `undefined` ends the wait. */
  read(parts: ReadonlyMap<string, string>): Found | undefined;
}

export interface AskDeps extends Pick<ApiDeps, 'store' | 'clock'> {
  doorbells: Pick<ApiDeps['doorbells'], 'on'>;
  waits: { takenMs: number };
}

const ASK_AGAIN_MS = 500;

/**
 * Asks the process that owns the device, and waits for its answer. When that process dies, the next owner is asked.
 * Resolves with `undefined` when the time is over. Throws 503 when no sender has the device or it is asked too much, and
 * 429 when the quota is used up.
 */
export async function askOwner<Found>(
  deps: AskDeps,
  address: DeviceAddress,
  { read, timeoutMs, signal, question, quota }: OwnerCall<Found>,
): Promise<Found | undefined> {
  const { store, clock } = deps;
  const id = makeQuestionId();
  const startedMs = clock.monotonicMs();
  let askedAtMs = startedMs;
  refuse(await ask(store, address, { id, question, ...(quota && { quota }) }), quota?.nowMs ?? 0);
  const askAgain = async () => {
    askedAtMs = clock.monotonicMs();
    refuse(await ask(store, address, { id, question }), 0);
  };
  const look = async () => {
    const answer = await readOwnerAnswer(store, address, id);
    const found = read(answer.parts);
    if (found !== undefined) return found;
    if (answer.isRefused) throw new ApiError('unavailable', { fields: { why: 'the owner is asked too much' } });
    if (answer.isTakerOwner) return undefined;
    const nowMs = clock.monotonicMs();
    if (!answer.takenBy && nowMs - startedMs >= deps.waits.takenMs) throw noSender();
    // The doorbell was lost, or the process that took the question has died, and the next owner has not heard of it.
    if (nowMs - askedAtMs >= ASK_AGAIN_MS) await askAgain();
    return undefined;
  };
  try {
    return await waitFor(deps, address, { topics: ['answers'], look, timeoutMs, signal });
  } finally {
    // It lives for seconds anyway.
    await forgetQuestion(store, address, id).catch(() => undefined);
  }
}

function refuse(outcome: 'asked' | 'busy' | 'capped', nowMs: number): void {
  if (outcome === 'busy') throw new ApiError('unavailable', { fields: { why: 'too many questions wait' } });
  if (outcome !== 'capped') return;
  const resetInSeconds = Math.ceil((MS_PER_DAY - (nowMs % MS_PER_DAY)) / 1000);
  throw new ApiError('contact_checks_used_up', { resetInSeconds, headers: { 'Retry-After': String(resetInSeconds) } });
}

function noSender(): ApiError {
  return new ApiError('no_sender', { headers: { 'Retry-After': '10' } });
}
