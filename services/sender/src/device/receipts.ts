import type { PlatformIds } from '@gateway/contracts/sends/platform-id';
import type { ResultWriter } from '../scheduling/result-writer.js';

/** Finds the send of each platform id in a receipt, and stores the result. Ids of other clients lead to no send. */
export async function recordReceipt(
  deps: { ids: PlatformIds; results: ResultWriter },
  receipt: { platformIds: readonly string[]; kind: 'delivered' | 'read' },
): Promise<void> {
  const ours = receipt.platformIds
    .map((platformId) => deps.ids.parse(platformId))
    .filter((parts) => parts !== undefined);
  await Promise.all(
    ours.map(({ tag, recipient, part }) => deps.results.write(tag, { recipient, part, event: receipt.kind })),
  );
}

/**
 * The network revoked an ack. A temporary error only fails messages that count as sent: one that was never acknowledged goes
 * out again anyway, and gets a verdict of its own.
 */
export async function recordLateRefusal(
  deps: { ids: PlatformIds; results: ResultWriter },
  refusal: { platformId: string; code: number; isFinal: boolean },
): Promise<void> {
  const ours = deps.ids.parse(refusal.platformId);
  if (!ours) return;
  const { tag, recipient, part } = ours;
  await deps.results.write(tag, {
    recipient,
    part,
    event: refusal.isFinal ? 'failed' : 'revoked',
    errorCode: refusal.code,
  });
}
