import { type MessageId, parseMessageId } from '@gateway/contracts/ids';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import type { Store } from '@gateway/store/core/store';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { claimRecipient, recordResults } from '@gateway/store/sends/change-send';
import type { DeviceOwner } from '../../../api/test/support/device-owner.js';

const ERRORS = [463, ownErrorCode('not_on_messenger'), ownErrorCode('recipient_opted_out')];

interface MadeSend {
  count: number;
  text: string;
  /** How much of it is done; default: a little more than half. */
  share?: number;
  finishAtMs?: number;
  nowMs?: number;
}

/** A list of which some is done: of those it reached some have read it, and one in 37 failed. */
export async function makeSend(
  store: Store,
  { ownership }: DeviceOwner,
  { count, text, share = 0.6, finishAtMs, nowMs = Date.now() }: MadeSend,
): Promise<MessageId> {
  const { messageId } = await acceptSend(store, ownership.address, {
    ...{ kind: 'text', content: { kind: 'text', text }, parts: 1, owner: 't', requestId: 'r', nowMs },
    recipients: Array.from({ length: count }, (_, i) => String(447700000000 + i)),
    expiresAtMs: nowMs + 24 * 3_600_000,
    ...(finishAtMs !== undefined && { finishAtMs }),
  });
  const { tag } = parseMessageId(messageId)!;
  const reached = Math.ceil(count * share);
  if (reached === 0) return messageId;
  await claimRecipient(store, ownership, { tag, recipient: 0, part: 0, nowMs });
  const events = Array.from({ length: reached }, (_, recipient) => {
    const errorCode = ERRORS[Math.floor(recipient / 37) % ERRORS.length]!;
    if (recipient % 37 === 5) return { recipient, part: 0, event: 'failed' as const, errorCode };
    const event = recipient < reached / 3 ? 'read' : recipient < reached / 1.5 ? 'delivered' : 'acked';
    return { recipient, part: 0, event } as const;
  });
  await recordResults(store, ownership, { tag, nowMs: nowMs + 700, events });
  return messageId;
}
