import { type DeviceAddress, makeQuestionId } from '@gateway/contracts/ids';
import { ApiError } from '@gateway/runtime/errors';
import { MS_PER_DAY } from '@gateway/store/core/vault';
import {
  type AskedQuestion,
  askOwner as ask,
  forgetQuestion,
  readAnswerParts,
  readAnswerProgress,
  withdrawQuestion,
} from '@gateway/store/devices/questions/owner-questions';
import type { ApiDeps } from '../api-deps.js';
import { type Wait, waitFor } from '../http/wait-for.js';

export interface OwnerCall extends Pick<Wait<never>, 'timeoutMs' | 'signal'>, Omit<AskedQuestion, 'id'> {
  /** How many parts the answer has. */
  parts: number;
}

export interface AskDeps extends Pick<ApiDeps, 'store' | 'clock'> {
  doorbells: Pick<ApiDeps['doorbells'], 'on'>;
  waits: { takenMs: number };
}

const ASK_AGAIN_MS = 500;

/**
 * Asks the process that owns the device, and waits for its answer. When that process dies, the next owner is asked.
 * Resolves with the parts that there are when it is whole, or the time is over. Throws 503 when no sender has the device
 * or it is asked too much, and 429 when the quota is used up. What no sender has begun to answer does not count.
 */
export async function askOwner(
  deps: AskDeps,
  address: DeviceAddress,
  { parts, timeoutMs, signal, question, quota }: OwnerCall,
): Promise<ReadonlyMap<string, string>> {
  const { store, clock } = deps;
  const id = makeQuestionId();
  const counted = { id, ...(quota && { quota }) };
  const startedMs = clock.monotonicMs();
  let askedAtMs = startedMs;
  refuse(await ask(store, address, { ...counted, question }), quota?.nowMs ?? 0);
  const askAgain = async () => {
    askedAtMs = clock.monotonicMs();
    refuse(await ask(store, address, { id, question }), 0);
  };
  const look = async () => {
    const answer = await readAnswerProgress(store, address, id);
    if (answer.parts >= parts) return true;
    if (answer.isRefused) throw new ApiError('unavailable', { fields: { why: 'the owner is asked too much' } });
    if (answer.taken === 'byOwner') return undefined;
    const nowMs = clock.monotonicMs();
    const isOverdue = !answer.taken && nowMs - startedMs >= deps.waits.takenMs;
    // An owner may take it in this very moment: then there is a sender.
    if (isOverdue && (await withdrawQuestion(store, address, counted))) throw noSender();
    // The doorbell was lost, or the process that took the question has died, and the next owner has not heard of it.
    if (nowMs - askedAtMs >= ASK_AGAIN_MS) await askAgain();
    return undefined;
  };
  try {
    const everyMs = Math.min(ASK_AGAIN_MS, deps.waits.takenMs);
    await waitFor(deps, address, { topics: ['answers'], look, timeoutMs, everyMs, signal });
    return await readAnswerParts(store, address, id);
  } finally {
    // It lives for seconds anyway.
    await forgetQuestion(store, address, counted).catch(() => undefined);
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
