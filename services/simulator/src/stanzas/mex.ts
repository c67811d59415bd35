import type { Account } from '../accounts/account.js';
import { messageCapping, reachoutTimelock } from '../accounts/restrictions-view.js';
import { type BinaryNode, childNamed, node } from '../wire/nodes.js';
import type { Client, Server } from './stanza-context.js';

const REACHOUT_TIMELOCK = '23983697327930364';
const MESSAGE_CAPPING = '24503548349331633';

/** GraphQL-like queries: the two about an account's restrictions are answered truthfully, the others with no data. */
export function answerMex(server: Server, { session, device }: Client, query: BinaryNode): void {
  const account = server.network.accounts.ensure(device.number);
  const data = answerQuery(account, childNamed(query, 'query')?.attrs.query_id, server.network.now());
  session.reply(query, [node('result', {}, Buffer.from(JSON.stringify(data)))]);
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
