import type { OwnerQuestion } from '@gateway/contracts/devices/owner-questions';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { systemClock } from '@gateway/runtime/clock';
import { ApiError } from '@gateway/runtime/errors';
import { type AskDeps, askAndWait } from '@gateway/store/devices/questions/ask-and-wait';
import type { CliContext } from '../cli-context.js';

/** To ask the process that owns a device. Polls, as the CLI listens to no doorbells. */
export function asking({ store }: Pick<CliContext, 'store'>): AskDeps {
  const waits = { takenMs: LIMITS.questionTakenSeconds * 1000 };
  return { store, clock: systemClock, doorbells: { on: () => () => {} }, waits };
}

/** Asks the process that owns a device; `why` says why there is no answer. */
export async function askDevice<Answer>(
  context: CliContext,
  address: DeviceAddress,
  question: OwnerQuestion,
): Promise<{ answer?: Answer; why?: string }> {
  try {
    const parts = await askAndWait(asking(context), address, {
      question,
      parts: 1,
      timeoutMs: LIMITS.contactsWaitSeconds * 1000,
      signal: new AbortController().signal,
    });
    const found = parts.get('0');
    return found === undefined ? { why: 'no answer in time' } : { answer: JSON.parse(found) as Answer };
  } catch (thrown) {
    if (thrown instanceof ApiError) return { why: thrown.publicMessage };
    throw thrown;
  }
}
