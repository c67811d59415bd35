import type { Restriction } from '@gateway/contracts/restriction';
import { type BaileysSocket, type BinaryNode, getBinaryNodeChild } from './baileys.js';
import { networkCodeOf } from './session-errors.js';
import { within } from './within.js';

const TIMEOUT_MS = 5_000;
/** Notifications about what `readRestriction` asks for. */
const NEWS: ReadonlySet<string | undefined> = new Set([
  'NotificationUserReachoutTimelockUpdate',
  'MessageCappingInfoNotification',
]);

/**
 * Asks whether the account may start new chats; `undefined` when it may. There are two limits, a lock and a quota; of
 * both, the one that ends later. The library asks for neither when a message is refused for it.
 * Rejects when the network did not answer. A question that it refuses counts as a limit that it does not have.
 */
export async function readRestriction(sock: BaileysSocket, signal: AbortSignal): Promise<Restriction | undefined> {
  const limit = { timeoutMs: TIMEOUT_MS, what: 'restriction', signal };
  const [lock, quota] = await Promise.all([
    unlessRefused(within(limit, sock.fetchAccountReachoutTimelock())),
    unlessRefused(within(limit, sock.fetchNewChatMessageCap())),
  ]);
  const found: Restriction[] = [];
  if (lock?.isActive) found.push({ kind: 'reach_out_time_lock', ...endingAt(lock.timeEnforcementEnds?.getTime()) });
  if (quota?.capping_status === 'CAPPED')
    found.push({ kind: 'new_chat_cap', ...endingAt(Number(quota.cycle_end_timestamp) * 1000) });
  return found.sort((a, b) => endOf(b) - endOf(a))[0];
}

/** The network says that the answer has changed: ask again. After an absence it says so at the login. */
export function watchRestriction(sock: BaileysSocket, onNews: () => void): void {
  sock.ws.on('CB:notification,type:mex', (node: BinaryNode) => {
    if (NEWS.has(getBinaryNodeChild(node, 'update')?.attrs.op_name)) onNews();
  });
}

async function unlessRefused<Answer>(asked: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asked;
  } catch (thrown) {
    if (networkCodeOf(thrown) === undefined) throw thrown;
    return undefined;
  }
}

function endingAt(untilMs: number | undefined): { untilMs?: number } {
  return untilMs && untilMs > 0 ? { untilMs } : {};
}

function endOf({ untilMs = Number.POSITIVE_INFINITY }: Restriction): number {
  return untilMs;
}
