import { type OwnRecipientError, ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import { isOptedOut } from '@gateway/store/workspace/hidden-opt-outs';
import { findOptedOut } from '@gateway/store/workspace/opt-outs';
import type { DeviceDeps } from '../deps.js';
import type { SendProgress } from '../scheduling/send-progress.js';

type UnsentDeps = Pick<DeviceDeps, 'store' | 'ownership' | 'results' | 'metrics'>;

/** Those of a batch who take messages. The others cost neither a lookup nor a place in the pace. */
export async function dropOptedOut<Upcoming extends { index: number; to: string }>(
  deps: UnsentDeps,
  send: SendProgress,
  upcoming: Upcoming[],
): Promise<Upcoming[]> {
  const numbers = upcoming.map(({ to }) => to);
  const optedOut = await findIn(deps, send, numbers);
  const dropped = upcoming.filter(({ to }) => optedOut.has(to));
  await Promise.all(dropped.map(({ index }) => failUnsent(deps, send, index, 'recipient_opted_out')));
  return upcoming.filter(({ to }) => !optedOut.has(to));
}

/** A recipient by all their names; recipients whom no opt-out concerns are left out. */
export type Recipient =
  | { kind: 'exempt' }
  | { kind: 'named'; numbers: readonly string[]; hiddenId: string | undefined; storedHiddenId?: string };

/**
 * Who a recipient is. What was looked up may be forgotten since: then it is asked for here, and not by the message itself,
 * which would go out to a person whose wish is not known. `undefined`: it was not told.
 */
export async function identify(
  session: Pick<MessengerSession, 'lookUp' | 'numberOf' | 'hiddenIdOf' | 'namedHiddenIdOf'>,
  send: SendProgress,
  to: string,
): Promise<Recipient | undefined> {
  if (isExempt(send)) return { kind: 'exempt' };
  try {
    const found = (await session.lookUp([to])).get(to);
    if (!found || 'error' in found || !found.exists) return undefined;
    const hiddenId = session.namedHiddenIdOf(to);
    const storedHiddenId = hiddenId === undefined ? await session.hiddenIdOf(to) : undefined;
    const numbers = [to, session.numberOf(to)];
    return { kind: 'named', numbers, hiddenId, ...(storedHiddenId !== undefined && { storedHiddenId }) };
  } catch {
    // The session has ended, or will in a moment as its keys cannot be read.
    return undefined;
  }
}

/** Whether a person has opted out, under any of their names: also with a STOP that came without a number. */
export async function hasOptedOut({ store, ownership }: UnsentDeps, recipient: Recipient): Promise<boolean> {
  return recipient.kind === 'named' && isOptedOut(store, ownership.address.workspace, recipient);
}

async function findIn(
  { store, ownership }: UnsentDeps,
  send: SendProgress,
  numbers: readonly string[],
): Promise<Set<string>> {
  return isExempt(send) ? new Set() : findOptedOut(store, ownership.address.workspace, numbers);
}

/** OTPs go out anyway: the person has just requested one. */
function isExempt({ record }: SendProgress): boolean {
  return record.priority === 'otp';
}

/** Says of a recipient that they get nothing (more) of this send, and why. */
export async function failUnsent(
  { results }: UnsentDeps,
  send: SendProgress,
  recipient: number,
  error: OwnRecipientError,
): Promise<void> {
  await results.write(send.tag, { recipient, part: 0, event: 'failed', errorCode: ownErrorCode(error) });
  send.settled(recipient);
}
