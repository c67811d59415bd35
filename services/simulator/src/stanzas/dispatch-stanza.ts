import { randomBytes } from 'node:crypto';
import { type BinaryNode, childNamed, childrenOf, node } from '../wire/nodes.js';
import { handleMessage } from './handle-message.js';
import { handleChatState, handlePresence } from './handle-presence.js';
import { handleReceipt } from './handle-receipt.js';
import { IQ_TABLE } from './iq-table.js';
import type { Client, Server } from './stanza-context.js';
import { handleInfo } from './start-delivery.js';

/** Hands a stanza of a logged-in client to its handler, by tag. */
export function dispatchStanza(server: Server, client: Client, stanza: BinaryNode): void {
  switch (stanza.tag) {
    case 'message':
      return handleMessage(server, client, stanza);
    case 'iq':
      return handleQuery(server, client, stanza);
    case 'receipt':
      return handleReceipt(server, client, stanza);
    case 'ack':
      client.device.mailbox.confirm(stanza);
      return;
    case 'presence':
      return handlePresence(server, client, stanza);
    case 'chatstate':
      return handleChatState(server, client, stanza);
    case 'call':
      return answerCall(client, stanza);
    case 'ib':
      return handleInfo(client, stanza);
    default:
      return;
  }
}

/** Links to calls are given out; calls themselves are acknowledged and lead nowhere. */
function answerCall({ session }: Client, call: BinaryNode): void {
  const { id, to } = call.attrs;
  const media = childNamed(call, 'link_create')?.attrs.media;
  if (media === undefined) {
    const type = childrenOf(call)[0]?.tag;
    return session.send(node('ack', { class: 'call', id, from: to, type }));
  }
  const token = randomBytes(16).toString('base64url').slice(0, 22);
  session.send(node('call', { from: to, id }, [node('link_create', { media, token })]));
}

function handleQuery(server: Server, client: Client, query: BinaryNode): void {
  const { type, xmlns = '' } = query.attrs;
  if (type === 'result') client.session.awaitsPong = false;
  if (type === 'result' || type === 'error') return;
  const { counters, faults } = server.network;
  counters.iqs += 1;
  const queryId = childNamed(query, 'query')?.attrs.query_id;
  const event = { account: client.device.number, device: client.device.id, xmlns, ...(queryId && { queryId }) };
  const fault = faults.strike('iq', event);
  if (fault?.silent) return;
  if (fault?.error) return client.session.replyError(query, fault.error, 'fault');
  if (fault?.streamError) return client.session.endStream(fault.streamError);
  const answer = () => answerQuery(server, client, query, xmlns);
  const delayMs = fault ? faults.delayOf(fault) : 0;
  if (delayMs === 0) answer();
  else setTimeout(answer, delayMs).unref();
}

function answerQuery(server: Server, client: Client, query: BinaryNode, xmlns: string): void {
  const handler = IQ_TABLE[xmlns];
  if (handler) return handler(server, client, query);
  server.network.counters.unknownIqs += 1;
  server.network.logger.warn('query of an unknown namespace', { xmlns });
  client.session.replyError(query, 501, 'feature-not-implemented');
}
