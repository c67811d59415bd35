import { type OwnRecipientError, ownErrorCode } from '@gateway/contracts/recipient-errors';
import { findOptedOut } from '@gateway/store/opt-outs';
import type { SchedulerDeps } from './device-scheduler.js';
import type { OpenSend } from './open-send.js';

type UnsentDeps = Pick<SchedulerDeps, 'store' | 'lease' | 'results' | 'metrics'>;

/** Those of a batch who take messages. The others cost neither a look-up nor a place in the pace. */
export async function dropOptedOut<Upcoming extends { index: number; to: string }>(
  deps: UnsentDeps,
  send: OpenSend,
  upcoming: Upcoming[],
): Promise<Upcoming[]> {
  const numbers = upcoming.map(({ to }) => to);
  const optedOut = await findIn(deps, send, numbers);
  const dropped = upcoming.filter(({ to }) => optedOut.has(to));
  await Promise.all(dropped.map(({ index }) => failUnsent(deps, send, index, 'recipient_opted_out')));
  return upcoming.filter(({ to }) => !optedOut.has(to));
}

/** @param numbers of one person, each as somebody writes it. */
export async function hasOptedOut(deps: UnsentDeps, send: OpenSend, numbers: readonly string[]): Promise<boolean> {
  return (await findIn(deps, send, numbers)).size > 0;
}

/** A code goes out all the same: whoever gets one has just asked for it. */
async function findIn({ store, lease }: UnsentDeps, send: OpenSend, numbers: readonly string[]): Promise<Set<string>> {
  return send.record.kind === 'otp' ? new Set() : findOptedOut(store, lease.address.workspace, numbers);
}

/** Says of a recipient that they get nothing (more) of this send, and why. */
export async function failUnsent(
  { results, metrics }: UnsentDeps,
  send: OpenSend,
  recipient: number,
  error: OwnRecipientError,
): Promise<void> {
  metrics.countUnsent(error, 1);
  await results.write(send.tag, { recipient, part: 0, event: 'failed', errorCode: ownErrorCode(error) });
  send.settled(recipient);
}
