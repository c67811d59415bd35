/**
 * What became of one recipient: libs/store/src/sends/record-results.lua says what may follow what. The order is the storage
 * code: append only.
 */
export const RECIPIENT_STATUSES = ['queued', 'sent', 'delivered', 'read', 'failed', 'expired', 'cancelled'] as const;
export type RecipientStatus = (typeof RECIPIENT_STATUSES)[number];
export type StatusCounts = Record<RecipientStatus, number>;

/** Of a record: some recipients are queued, or all are settled. */
export const SEND_STATES = ['open', 'closed'] as const;
export type SendState = (typeof SEND_STATES)[number];

/**
 * What is heard of a part of a message: the first three from the network; `failed` for good; `revoked`: an ack taken back, it
 * failed if it counted as sent; `returned`: it did not arrive, and is tried again unless it was cancelled meanwhile; `held`: it
 * waits for what the error code says, and what the recipient may have got before is as uncertain as it was.
 */
export const RECIPIENT_EVENTS = ['acked', 'delivered', 'read', 'failed', 'revoked', 'returned', 'held'] as const;
export type RecipientEventName = (typeof RECIPIENT_EVENTS)[number];

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
