import { type DeviceAddress, makeQuestionId } from '@gateway/contracts/ids';
import { ApiError } from '@gateway/runtime/errors';
import type { Store } from '../../core/store.js';
import { MS_PER_DAY } from '../../core/vault.js';
import { type Wait, type WaitDeps, waitFor } from '../../core/wait-for.js';
import {
  type AskedQuestion,
  askOwner,
  forgetQuestion,
  readAnswerParts,
  readAnswerProgress,
  withdrawQuestion,
} from './owner-questions.js';

export interface OwnerCall extends Pick<Wait<never>, 'timeoutMs' | 'signal'>, Omit<AskedQuestion, 'id'> {
  /** How many parts the answer has. */
  parts: number;
}

export interface AskDeps extends WaitDeps {
  store: Store;
  waits: { takenMs: number };
}

const ASK_AGAIN_MS = 500;

/**
 * Asks the process that owns the device, and waits for its answer. When that process dies, the next owner is asked.
 * Resolves with the parts that there are when it is whole, or the time is over. Throws 503 when no sender has the device
 * or it has too many questions, 429 when the quota is used up, and `WorkspaceGoneError` when the device has gone. Questions that no
 * sender has begun to answer do not count.
 */
export async function askAndWait(
  deps: AskDeps,
  address: DeviceAddress,
  { parts, timeoutMs, signal, question, quota }: OwnerCall,
): Promise<ReadonlyMap<string, string>> {
  const { store, clock } = deps;
  const id = makeQuestionId();
  const counted = { id, ...(quota && { quota }) };
  const startedMs = clock.monotonicMs();
  let askedAtMs = startedMs;
  refuse(await askOwner(store, address, { ...counted, question }), quota?.nowMs ?? 0);
  const askAgain = async () => {
    askedAtMs = clock.monotonicMs();
    refuse(await askOwner(store, address, { id, question }), 0);
  };
  const look = async () => {
    const answer = await readAnswerProgress(store, address, id);
    if (answer.parts >= parts) return true;
    if (answer.isRefused) throw new ApiError('unavailable', { fields: { why: 'the owner is asked too much' } });
    if (answer.taken === 'byOwner') return undefined;
    const nowMs = clock.monotonicMs();
    const isOverdue = !answer.taken && nowMs - startedMs >= deps.waits.takenMs;
    // An owner may take it at this moment: then there is a sender.
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
