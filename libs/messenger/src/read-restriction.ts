import type { Restriction } from '@gateway/contracts/restriction';
import { type BaileysSocket, type BinaryNode, getBinaryNodeChild } from './baileys.js';
import { networkCodeOf, UnknownLimitsError } from './session-errors.js';
import { within } from './within.js';

const TIMEOUT_MS = 5_000;
/** Codes of the library's own: an answer it cannot read, no answer in time, a closed connection. 429 is "later". */
const NO_ANSWER: ReadonlySet<number> = new Set([400, 408, 428, 429]);
/** Notifications about what `readRestriction` asks for. */
const NEWS: ReadonlySet<string | undefined> = new Set([
  'NotificationUserReachoutTimelockUpdate',
  'MessageCappingInfoNotification',
]);

/**
 * Asks whether the account may start new chats; `undefined` when it may. There are two limits, a lock and a quota; of
 * both, the one that ends later. The library asks for neither when a message is refused for it.
 * A limit that the network does not know is one that it does not have. Rejects when a question was not answered, or when
 * it knows neither limit: then it has said nothing.
 */
export async function readRestriction(sock: BaileysSocket, signal: AbortSignal): Promise<Restriction | undefined> {
  const limit = { timeoutMs: TIMEOUT_MS, what: 'restriction', signal };
  const [lock, quota] = await Promise.all([
    unlessUnknown(within(limit, sock.fetchAccountReachoutTimelock())),
    unlessUnknown(within(limit, sock.fetchNewChatMessageCap())),
  ]);
  if (lock === 'unknown' && quota === 'unknown') throw new UnknownLimitsError();
  const found: Restriction[] = [];
  if (lock !== 'unknown' && lock.isActive) {
    found.push({ kind: 'reach_out_time_lock', ...endingAt(lock.timeEnforcementEnds?.getTime()) });
  }
  if (quota !== 'unknown' && quota.capping_status === 'CAPPED') {
    found.push({ kind: 'new_chat_cap', ...endingAt(Number(quota.cycle_end_timestamp) * 1000) });
  }
  return found.sort((a, b) => endOf(b) - endOf(a))[0];
}

/** The network says that the answer has changed: ask again. After an absence it says so at the login. */
export function watchRestriction(sock: BaileysSocket, onNews: () => void): void {
  sock.ws.on('CB:notification,type:mex', (node: BinaryNode) => {
    if (NEWS.has(getBinaryNodeChild(node, 'update')?.attrs.op_name)) onNews();
  });
}

async function unlessUnknown<Answer>(asked: Promise<Answer>): Promise<Answer | 'unknown'> {
  try {
    return await asked;
  } catch (thrown) {
    if (!isUnknownToNetwork(networkCodeOf(thrown))) throw thrown;
    return 'unknown';
  }
}

/** Whether the network would say the same to the next try. */
function isUnknownToNetwork(code = 0): boolean {
  return code >= 400 && code < 500 && !NO_ANSWER.has(code);
}

function endingAt(untilMs: number | undefined): { untilMs?: number } {
  return untilMs && untilMs > 0 ? { untilMs } : {};
}

function endOf({ untilMs = Number.POSITIVE_INFINITY }: Restriction): number {
  return untilMs;
}
