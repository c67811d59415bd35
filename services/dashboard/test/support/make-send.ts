import { parseMessageId } from '@gateway/contracts/ids';
import type { Store } from '@gateway/store/core/store';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { claimRecipient, recordResults } from '@gateway/store/sends/change-send';
import type { DeviceOwner } from '../../../api/test/support/device-owner.js';

/** A list that is half way: of those it reached some have read it, and one in 37 failed. */
export async function makeSend(
  store: Store,
  { ownership }: DeviceOwner,
  { count, text, finishAtMs, nowMs = Date.now() }: { count: number; text: string; finishAtMs?: number; nowMs?: number },
): Promise<void> {
  const { messageId } = await acceptSend(store, ownership.address, {
    ...{ kind: 'text', content: { kind: 'text', text }, parts: 1, owner: 't', requestId: 'r', nowMs },
    recipients: Array.from({ length: count }, (_, i) => String(447700000000 + i)),
    expiresAtMs: nowMs + 24 * 3_600_000,
    ...(finishAtMs !== undefined && { finishAtMs }),
  });
  const { tag } = parseMessageId(messageId)!;
  await claimRecipient(store, ownership, { tag, recipient: 0, part: 0, nowMs });
  const reached = Math.ceil(count * 0.6);
  const events = Array.from({ length: reached }, (_, recipient) => {
    if (recipient % 37 === 5) return { recipient, part: 0, event: 'failed' as const, errorCode: 463 };
    const event = recipient < reached / 3 ? 'read' : recipient < reached / 1.5 ? 'delivered' : 'acked';
    return { recipient, part: 0, event } as const;
  });
  await recordResults(store, ownership, { tag, nowMs: nowMs + 700, events });
}
