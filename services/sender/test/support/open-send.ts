import { RECIPIENT_STATUSES, type RecipientStatus, type StatusCounts } from '@gateway/contracts/sends/statuses';
import type { IllegalMoveError } from '@gateway/sender/scheduling/places';
import { SendProgress } from '@gateway/sender/scheduling/send-progress';
import { takeReady } from './take.js';

export const counts = Object.fromEntries(RECIPIENT_STATUSES.map((status) => [status, 0])) as StatusCounts;
export const recipient = (index: number, status: RecipientStatus = 'queued', attempts = 0) => ({
  ...{ index, to: `49151000000${index}`, status, attempts },
  ...{ partsInFlight: attempts > 0 ? 1 : 0, partsInDoubt: 0, partsAcked: 0, errorCode: 0, atMs: 0 },
});

export function openSend(
  recipients = [0, 1, 2].map((index) => recipient(index)),
  onIllegalMove?: (error: IllegalMoveError) => void,
): SendProgress {
  return new SendProgress({
    record: {
      ...{ messageId: 'msg_1', tag: '0', state: 'open', kind: 'text', total: recipients.length, parts: 1 },
      ...{ owner: 't', requestId: 'r', createdAtMs: 0, expiresAtMs: 1, counts },
      ...{ priority: 'bulk', accountEpoch: 0, blob: '' },
    },
    recipients,
    content: { kind: 'text', text: 'hello' },
    ...(onIllegalMove && { onIllegalMove }),
  });
}
export const lookUp = (send: SendProgress, { limit = 10, nowMs = 0 } = {}) =>
  send.takeForLookUp(limit, nowMs).map(({ index }) => index);
/** Looks up all who wait, and takes the first of them. */
export function take(send: SendProgress, nowMs = 0) {
  send.addReady(lookUp(send, { nowMs }));
  return takeReady(send);
}
