import type { Restriction, RestrictionKind } from '@gateway/contracts/devices/restriction';
import { askMex, type MexQuestion } from '../lookup/ask-mex.js';
import { OptionalQueries } from '../session/optional-queries.js';
import { networkCodeOf, UnknownLimitsError } from '../session/session-errors.js';
import { within } from '../session/within.js';
import { type BaileysSocket, type BinaryNode, getBinaryNodeChild } from '../socket/baileys.js';

const TIMEOUT_MS = 5_000;
/** No answer about the limit: an unreadable one, a timeout, a closed connection. 429 is "later". */
const NO_ANSWER: ReadonlySet<number> = new Set([400, 408, 428, 429]);
/** Of those, the ones with which another question would fare no better. */
const SILENT: ReadonlySet<number> = new Set([408, 428, 429]);
/** Notifications about what `readRestriction` asks for. */
const NEWS: ReadonlySet<string | undefined> = new Set([
  'NotificationUserReachoutTimelockUpdate',
  'MessageCappingInfoNotification',
]);

const LOCK: MexQuestion = {
  queryId: '23983697327930364',
  variables: {},
  field: 'xwa2_fetch_account_reachout_timelock',
};
/** The web client's input. The library asks for another type, which the network refuses with 500 for some accounts. */
const QUOTA: Omit<MexQuestion, 'queryId'> = {
  variables: { input: { type: 'INDIVIDUAL_NEW_CHAT_THREAD' } },
  field: 'xwa2_message_capping_info',
};
/** The id that the web client of September 2026 has for it, and the one before. */
const QUOTA_IDS = ['27910975521856601', '24503548349331633'] as const;

/** The network's answer about one limit: `none` also if it knows no such limit. */
type Said = { kind: 'restricted'; restriction: Restriction } | { kind: 'none' } | { kind: 'unknownToNetwork' };
export type Answer = Said | { kind: 'unanswered'; error: unknown };

/**
 * Asks whether the account may start new chats; `undefined` when it may. There are two limits, a lock and a quota; of
 * both, the one that ends later. The library asks for neither when a message is refused for it.
 *
 * A limit that is on is an answer by itself. That none is on is the word about `about`, the limit that a message was
 * refused for; without it, about either. A limit that the network does not know, or ends the connection
 * over when it is asked, is one that it does not have. Rejects when that word is missing, or when the network knows neither limit: then it has said nothing.
 */
export async function readRestriction(
  sock: BaileysSocket,
  signal: AbortSignal,
  about?: RestrictionKind,
  optional = new OptionalQueries(),
): Promise<Restriction | undefined> {
  const { lock, quota } = await askLimits(sock, signal, optional);
  const found = [lock, quota].flatMap((answer) => (answer.kind === 'restricted' ? [answer.restriction] : []));
  if (found.length > 0) return found.sort((a, b) => endOf(b) - endOf(a))[0];
  assertAnswered({ lock, quota }, about);
  return undefined;
}

/** What the network says of each of the two limits; a question that is left out counts as unknown to the network. */
export async function askLimits(
  sock: BaileysSocket,
  signal: AbortSignal,
  optional: OptionalQueries,
): Promise<{ lock: Answer; quota: Answer }> {
  const limit = { timeoutMs: TIMEOUT_MS, what: 'restriction', signal };
  const ask = async (query: 'lock' | 'quota', question: (sock: BaileysSocket) => Promise<Said>): Promise<Answer> => {
    if (!optional.mayAsk(query)) return { kind: 'unknownToNetwork' };
    return toAnswer(optional.ask(query, () => within(limit, question(sock))));
  };
  const [lock, quota] = await Promise.all([ask('lock', askLock), ask('quota', askQuota)]);
  return { lock, quota };
}

function assertAnswered({ lock, quota }: { lock: Answer; quota: Answer }, about: RestrictionKind | undefined): void {
  const [wanted, other] = about === 'new_chat_cap' ? [quota, lock] : [lock, quota];
  if (wanted.kind === 'none') return;
  if (other.kind === 'none' && (!about || wanted.kind === 'unknownToNetwork')) return;
  for (const answer of [wanted, other]) if (answer.kind === 'unanswered') throw answer.error;
  throw new UnknownLimitsError();
}

async function askLock(sock: BaileysSocket): Promise<Said> {
  const { is_active: isActive, time_enforcement_ends: ends } = await askMex(sock, LOCK);
  return isActive === true ? restricted('reach_out_time_lock', ends) : { kind: 'none' };
}

async function askQuota(sock: BaileysSocket): Promise<Said> {
  const [current, former] = QUOTA_IDS;
  const answer = await askMex(sock, { ...QUOTA, queryId: current }).catch((thrown: unknown) => {
    const code = networkCodeOf(thrown);
    if (code === undefined || SILENT.has(code)) throw thrown;
    return askMex(sock, { ...QUOTA, queryId: former });
  });
  return answer.capping_status === 'CAPPED' ? restricted('new_chat_cap', answer.cycle_end_timestamp) : { kind: 'none' };
}

/** @param ends seconds, as a number or in digits; 0 for an end that the network does not name. */
function restricted(kind: RestrictionKind, ends: unknown): Said {
  const untilMs = Number(ends) * 1000;
  return { kind: 'restricted', restriction: untilMs > 0 ? { kind, untilMs } : { kind } };
}

/** The network announces that the answer has changed: ask again. If the device was offline, it announces it at the login. */
export function watchRestriction(sock: BaileysSocket, onNews: () => void): void {
  sock.ws.on('CB:notification,type:mex', (node: BinaryNode) => {
    if (NEWS.has(getBinaryNodeChild(node, 'update')?.attrs.op_name)) onNews();
  });
}

async function toAnswer(asked: Promise<Said>): Promise<Answer> {
  try {
    return await asked;
  } catch (error) {
    return isUnknownToNetwork(networkCodeOf(error)) ? { kind: 'unknownToNetwork' } : { kind: 'unanswered', error };
  }
}

/** Whether the network would refuse the next attempt, too. */
function isUnknownToNetwork(code = 0): boolean {
  return code >= 400 && code < 500 && !NO_ANSWER.has(code);
}

function endOf({ untilMs = Number.POSITIVE_INFINITY }: Restriction): number {
  return untilMs;
}
