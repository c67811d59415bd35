import type { ReadyContent } from '@gateway/contracts/content/message-content';
import { namespaceOf } from '../addressing/addressing-state.js';
import { authorOfQuote } from '../addressing/author-of-quote.js';
import { inNamespace } from '../addressing/other-name.js';
import type { LookUp } from '../lookup/look-up.js';
import {
  areJidsSameUser,
  type BaileysSocket,
  type BinaryNode,
  extractE2ESessionFromRetryReceipt,
  getBinaryNodeChild,
} from '../socket/baileys.js';
import type { ContactTokens } from '../tokens/contact-tokens.js';
import { toQuotingProto } from './quote.js';
import { nameFor } from './send-message.js';

export interface ResendDeps {
  sock: BaileysSocket;
  lookUp: Pick<LookUp, 'namesOf'>;
  contactTokens: Pick<ContactTokens, 'nodesFor'>;
  getMessage(platformId: string): Promise<ReadyContent | undefined>;
}

export interface ResendRequest {
  /** The receipt that asks. */
  node: BinaryNode;
  /** Jid of the device that asks: one of the recipient, or one of ours. */
  device: string;
  /** Number of the recipient; it was looked up. */
  to: string;
  ids: readonly string[];
}

/** After this many attempts another resend does not help. */
const MOST_ATTEMPTS = 5;

/**
 * Sends messages once more under their ids, to the one device that could not read them, with a new session.
 * Like every message to a person they have one namespace, the number, and a token. Rejects when one could
 * not be written.
 */
export async function resendMessages(deps: ResendDeps, request: ResendRequest): Promise<void> {
  const { sock } = deps;
  const { node, to, ids } = request;
  const { creds, keys } = sock.authState;
  const names = deps.lookUp.namesOf(to);
  const attempt = Number(getBinaryNodeChild(node, 'retry')?.attrs.count) || 1;
  if (!names || attempt > MOST_ATTEMPTS) return;
  const namespace = namespaceOf(creds);
  const device = await inNamespace(keys, request.device, namespace);
  await renewSession(sock, device, node);
  const person = (namespace === 'lid' && names.lid) || names.jid;
  const isOurs = areJidsSameUser(device, creds.me?.id) || areJidsSameUser(device, creds.me?.lid);
  for (const messageId of ids) {
    const content = await deps.getMessage(messageId);
    if (!content) continue;
    const book = { own: sock.user, keys };
    const message = toQuotingProto(content, await authorOfQuote(book, content, namespace));
    await sock.relayMessage(person, message, {
      ...{ messageId, participant: { jid: device, count: attempt } },
      ...(isOurs ? { additionalAttributes: { recipient: person } } : await shownTo(deps, names, namespace)),
    });
  }
}

async function shownTo(
  { contactTokens }: ResendDeps,
  { jid, lid }: NonNullable<ReturnType<LookUp['namesOf']>>,
  namespace: ReturnType<typeof namespaceOf>,
) {
  const additionalNodes = await contactTokens.nodesFor(lid ?? jid);
  return { additionalNodes, ...(namespace === 'lid' && lid && { additionalAttributes: nameFor(jid) }) };
}

/** The request may contain new keys; otherwise the network has them. */
async function renewSession({ signalRepository, assertSessions }: BaileysSocket, jid: string, node: BinaryNode) {
  const brought = extractE2ESessionFromRetryReceipt(node);
  if (!brought) return void (await assertSessions([jid], true));
  const { preKey, ...session } = brought;
  await signalRepository.injectE2ESession({ jid, session: { ...session, ...(preKey && { preKey }) } });
}
