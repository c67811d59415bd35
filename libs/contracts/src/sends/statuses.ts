/**
 * What became of one recipient: libs/store/src/sends/record-results.lua says what may follow what. The order is the storage
 * code: append only.
 */
export const RECIPIENT_STATUSES = ['queued', 'sent', 'delivered', 'read', 'failed', 'expired', 'cancelled'] as const;
export type RecipientStatus = (typeof RECIPIENT_STATUSES)[number];
export type StatusCounts = Record<RecipientStatus, number>;

export type SendStatus = RecipientStatus | 'sending';

/**
 * A send is as far as its slowest recipient: `queued` before the first message went out, `sending` while some are
 * still queued, then the lowest of sent, delivered and read among those that were not lost on the way.
 */
export function sendStatus(counts: StatusCounts): SendStatus {
  const total = RECIPIENT_STATUSES.reduce((sum, status) => sum + counts[status], 0);
  if (counts.queued > 0) return counts.queued === total ? 'queued' : 'sending';
  for (const status of ['sent', 'delivered', 'read', 'failed', 'expired', 'cancelled'] as const) {
    if (counts[status] > 0) return status;
  }
  return 'queued';
}
