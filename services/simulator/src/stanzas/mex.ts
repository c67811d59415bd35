import type { Account } from '../accounts/account.js';
import { messageCapping, reachoutTimelock } from '../accounts/restrictions-view.js';
import { type BinaryNode, childNamed, node, textOf } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

const REACHOUT_TIMELOCK = '23983697327930364';
const MESSAGE_CAPPING = '24503548349331633';
/** The id that web clients of 2026 have for it. */
const MESSAGE_CAPPING_2026 = '27910975521856601';
/** The only cap there is, as web clients name it. */
const NEW_CHATS = 'INDIVIDUAL_NEW_CHAT_THREAD';

/** GraphQL-like queries: the two about an account's restrictions are answered truthfully, the others with no data. */
export function answerMex(server: Server, { session, device }: Client, query: BinaryNode): void {
  const { accounts, rules, now } = server.network;
  const account = accounts.ensure(device.number);
  const asked = childNamed(query, 'query');
  const queryId = asked?.attrs.query_id;
  const data =
    isCapping(queryId) && rules.namesCaps ? capping(account, asked, now()) : answerQuery(account, queryId, now());
  session.reply(query, [node('result', {}, Buffer.from(JSON.stringify(data)))]);
}

function isCapping(queryId: string | undefined): boolean {
  return queryId === MESSAGE_CAPPING || queryId === MESSAGE_CAPPING_2026;
}

/** Since 2026 the kind of the cap must be right, and numbers come as text. */
function capping(account: Account, asked: BinaryNode | undefined, nowMs: number): object {
  if (capType(asked) !== NEW_CHATS) {
    return { data: null, errors: [{ message: 'Internal server error', extensions: { error_code: 500 } }] };
  }
  const info = Object.entries(messageCapping(account, nowMs)).map(([name, value]) => [name, String(value)]);
  return { data: { xwa2_message_capping_info: Object.fromEntries(info) } };
}

function capType(asked: BinaryNode | undefined): unknown {
  try {
    return JSON.parse(textOf(asked) ?? '{}').variables?.input?.type;
  } catch {
    return undefined;
  }
}

function answerQuery(account: Account, queryId: string | undefined, nowMs: number): object {
  switch (queryId) {
    case REACHOUT_TIMELOCK:
      return { data: { xwa2_fetch_account_reachout_timelock: reachoutTimelock(account, nowMs) } };
    case MESSAGE_CAPPING:
      return { data: { xwa2_message_capping_info: messageCapping(account, nowMs) } };
    default:
      return { data: {}, errors: [{ message: 'Query is not known', extensions: { error_code: 404 } }] };
  }
}
