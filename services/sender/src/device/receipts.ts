import type { PlatformIds } from '@gateway/contracts/sends/platform-id';
import { type KeepingDeps, keepSurely } from '@gateway/store/inbound/keep-surely';
import type { ResultWriter } from '../scheduling/result-writer.js';

interface Receipt {
  platformIds: readonly string[];
  kind: 'delivered' | 'read';
}

/** Of a device, while replicas are away. */
const MAX_UNCONFIRMED = 200;
/** By device, those that were written and wait for replicas. */
const unconfirmed = new WeakMap<ResultWriter, Set<unknown>>();

/**
 * Resolves when the network may be told that it has arrived: the network repeats unconfirmed receipts, so they survive the end of this
 * process. Never where too many wait for replicas already: those are written, and come again at the next login.
 */
export async function keepReceipt(
  deps: KeepingDeps & { ids: PlatformIds; results: ResultWriter },
  receipt: Receipt,
): Promise<void> {
  const waiting = unconfirmed.get(deps.results) ?? new Set();
  unconfirmed.set(deps.results, waiting);
  let isRepeat = false;
  const write = async () => {
    // Not before: of a device that has just logged in there may be thousands, which replicas have in a moment.
    if (isRepeat && !waiting.has(receipt) && waiting.size >= MAX_UNCONFIRMED) return await never();
    if (isRepeat) waiting.add(receipt);
    isRepeat = true;
    await recordReceipt(deps, receipt);
  };
  await keepSurely(deps, write).finally(() => waiting.delete(receipt));
}

/** Nothing refers to who waits for it. */
function never(): Promise<never> {
  return new Promise(() => {});
}

/** Finds the send of each platform id in a receipt, and stores the result. Ids of other clients lead to no send. */
async function recordReceipt(deps: { ids: PlatformIds; results: ResultWriter }, receipt: Receipt): Promise<void> {
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
