import type { Logger } from '@gateway/runtime/logger';
import { namespaceOf } from './addressing/addressing-state.js';
import { inNamespace } from './addressing/other-name.js';
import {
  areJidsSameUser,
  type BaileysSocket,
  type BinaryNode,
  getAllBinaryNodeChildren,
  getBinaryNodeChildren,
  jidDecode,
  jidNormalizedUser,
} from './baileys.js';
import { confirmStanza } from './confirm-unread.js';
import type { Listener } from './listeners.js';
import type { LookUp } from './look-up.js';
import { ResendBudget } from './resend-budget.js';

export interface AnswerRetriesDeps {
  sock: BaileysSocket;
  saveCreds(): Promise<void>;
  lookUp: Pick<LookUp, 'lookUp'>;
  logger: Logger;
  /** Aborted when the session ends: what was not answered is asked again at the next login. */
  signal: AbortSignal;
}

const LOG_AGAIN_MS = 60 * 60_000;

/**
 * Prepares what the library needs to send a message again to a phone that could not read it. Phones ask by hidden
 * identifier; the library answers under the name that it was asked by, which the network refuses for an account that
 * writes by number. And it looks devices up under that one name: by number the network tells those of others to nobody.
 * So the person is looked up before, and the library gets the name of the account's namespace.
 */
export class RetryAnswers {
  readonly #deps: AnswerRetriesDeps;
  readonly #budget: ResendBudget;
  #loggedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: AnswerRetriesDeps) {
    this.#deps = deps;
    const { creds } = deps.sock.authState;
    this.#budget = new ResendBudget({ creds, saveCreds: deps.saveCreds, nowMs: Date.now });
  }

  /** Answers by `library`, or confirms the request without an answer. Rejects when the tally could not be stored. */
  async answer(node: BinaryNode, library: Listener): Promise<void> {
    const { lookUp, signal } = this.#deps;
    const person = await this.#numberOf(this.#personOf(node));
    const verdict = await this.#budget.take(jidNormalizedUser(person), idCount(node));
    if (verdict !== 'granted') return this.#refuse(node, verdict);
    const { user, server } = jidDecode(person) ?? {};
    if (user && server === 's.whatsapp.net') await lookUp.lookUp([user]);
    if (signal.aborted) return;
    const seen = { ...node, attrs: await this.#renamed(node.attrs) };
    const answered = library(seen);
    // The library has read the names by now, and reads them once more for its ack, which must carry those that came.
    seen.attrs = node.attrs;
    await answered;
  }

  /** One of our own devices asks for its copy of what was sent to a person. */
  #personOf({ attrs: { from = '', recipient } }: BinaryNode): string {
    const { user } = this.#deps.sock;
    const isOurs = areJidsSameUser(from, user?.id) || areJidsSameUser(from, user?.lid);
    return (isOurs && recipient) || from;
  }

  #numberOf(jid: string): Promise<string> {
    return inNamespace(this.#deps.sock.authState.keys, jid, 'pn');
  }

  /** Unmarked, as the library would put what waited at the network into a queue, and read the names later. */
  async #renamed({ offline: _, ...attrs }: BinaryNode['attrs']): Promise<BinaryNode['attrs']> {
    const { keys, creds } = this.#deps.sock.authState;
    const renamed = { ...attrs };
    for (const name of ['from', 'participant', 'recipient']) {
      if (attrs[name]) renamed[name] = await inNamespace(keys, attrs[name], namespaceOf(creds));
    }
    return renamed;
  }

  #refuse(node: BinaryNode, limit: 'contact' | 'account'): void {
    const { sock, logger } = this.#deps;
    confirmStanza(sock, node);
    // A flood of requests must not become one of lines.
    if (Date.now() - this.#loggedAtMs < LOG_AGAIN_MS) return;
    this.#loggedAtMs = Date.now();
    logger.warn('phones ask for messages again too often, more are not sent again for up to an hour', { limit });
  }
}

function idCount(node: BinaryNode): number {
  return 1 + getAllBinaryNodeChildren(node).flatMap((list) => getBinaryNodeChildren(list, 'item')).length;
}
