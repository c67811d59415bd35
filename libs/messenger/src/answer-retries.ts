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
import type { Recipients } from './recipients.js';
import { ResendBudget } from './resend-budget.js';

export interface AnswerRetriesDeps {
  sock: BaileysSocket;
  saveCreds(): Promise<void>;
  recipients: Pick<Recipients, 'of' | 'mayHave'>;
  /** Whether the content of this message is still kept. */
  hasMessage(platformId: string): Promise<boolean>;
  logger: Logger;
  /** Aborted when the session ends: what was not answered is asked again at the next login. */
  signal: AbortSignal;
}

type Refusal = 'contact' | 'account' | 'somebodyElse';
type Verdict = 'granted' | 'notOurs' | 'notRead' | Refusal;

/** All of ours go to persons: what is asked for in the name of a group or a broadcast was never sent. */
const PERSONS: ReadonlySet<string> = new Set(['s.whatsapp.net', 'lid', 'hosted', 'hosted.lid']);
const LOG_AGAIN_MS = 60 * 60_000;

/**
 * Prepares what the library needs to send a message again to a phone that could not read it. Phones ask by hidden
 * identifier; the library answers under the name that it was asked by, which the network refuses for an account that
 * writes by number. And it looks devices up under that one name: by number the network does not tell those of others.
 * So the person is looked up before, and the library gets the name of the account's namespace.
 *
 * Anyone can ask, for ids that they made up, or learnt: what is asked for must have gone to the person that asks, and the
 * device must be one that the network lists as theirs. Only messages that went out cost a look-up, and count.
 */
export class RetryAnswers {
  readonly #deps: AnswerRetriesDeps;
  readonly #budget: ResendBudget;
  #lastDecision: Promise<unknown> = Promise.resolve();
  readonly #loggedAtMs = new Map<Refusal, number>();

  constructor(deps: AnswerRetriesDeps) {
    this.#deps = deps;
    const { creds } = deps.sock.authState;
    this.#budget = new ResendBudget({ creds, saveCreds: deps.saveCreds, nowMs: Date.now });
  }

  /** Answers by `library`, or confirms the request without an answer. Rejects when the tally could not be stored. */
  async answer(node: BinaryNode, library: Listener): Promise<void> {
    const asking = this.#deviceOf(node);
    const isPersonal = isPerson(node.attrs.from) && isPerson(asking) && speaksForItself(node);
    if (!isPersonal) return confirmStanza(this.#deps.sock, node);
    const verdict = await this.#judge(asking, idsOf(node));
    switch (verdict) {
      case 'granted':
        return this.#answer(node, library);
      case 'notOurs':
        return confirmStanza(this.#deps.sock, node);
      case 'notRead':
        // It stays unconfirmed: the network says it again at the next login.
        return;
      default:
        return this.#refuse(node, verdict);
    }
  }

  /** Whose the messages are, before anything of them is read: who asks for those of others uses up no count. */
  async #judge(asking: string, ids: readonly string[]): Promise<Verdict> {
    const { recipients, logger } = this.#deps;
    try {
      const numbers = [...(await recipients.of(ids)).values()];
      if (numbers.length === 0) return 'notOurs';
      const standing = await recipients.mayHave(asking, numbers);
      if (standing !== 'recipient') return standing === 'unclear' ? 'notRead' : standing;
    } catch (error) {
      logger.warn('who is to have a message again could not be read', { error });
      return 'notRead';
    }
    return this.#decideInTurn(jidNormalizedUser(await this.#numberOf(asking)), ids);
  }

  /** One at a time, so that requests which come together read no more than may go out. */
  #decideInTurn(contact: string, ids: readonly string[]): Promise<Verdict> {
    const decided = this.#lastDecision.then(() => this.#decide(contact, ids));
    this.#lastDecision = decided.catch(() => {});
    return decided;
  }

  async #decide(contact: string, ids: readonly string[]): Promise<Verdict> {
    const limit = this.#budget.limitOf(contact, ids.length);
    if (limit) return limit;
    const kept = await this.#countKept(ids);
    if (kept === undefined) return 'notRead';
    return kept === 0 ? 'notOurs' : this.#budget.take(contact, kept);
  }

  async #answer(node: BinaryNode, library: Listener): Promise<void> {
    if (this.#deps.signal.aborted) return;
    const seen = { ...node, attrs: await this.#renamed(node.attrs) };
    const answered = library(seen);
    // The library has read the names by now, and reads them once more for its ack, which must carry those that came.
    seen.attrs = node.attrs;
    await answered;
  }

  /** How many of the messages are ours; `undefined` when that could not be read. */
  async #countKept(ids: readonly string[]): Promise<number | undefined> {
    const { hasMessage, logger } = this.#deps;
    try {
      const found = await Promise.all([...new Set(ids)].map(hasMessage));
      return found.filter(Boolean).length;
    } catch (error) {
      logger.warn('a message that a phone asks for again could not be read', { error });
      return undefined;
    }
  }

  /** Who asks. One of our own devices asks for its copy of what was sent to a person: then that person. */
  #deviceOf({ attrs: { from = '', participant, recipient } }: BinaryNode): string {
    const { user } = this.#deps.sock;
    const isOurs = areJidsSameUser(from, user?.id) || areJidsSameUser(from, user?.lid);
    return (isOurs && recipient) || participant || from;
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

  #refuse(node: BinaryNode, refusal: Refusal): void {
    const { sock, logger } = this.#deps;
    confirmStanza(sock, node);
    // A flood of requests must not become one of lines.
    if (Date.now() - (this.#loggedAtMs.get(refusal) ?? 0) < LOG_AGAIN_MS) return;
    this.#loggedAtMs.set(refusal, Date.now());
    if (refusal === 'somebodyElse') logger.warn('a phone asked for a message that went to somebody else');
    else
      logger.warn('phones ask for messages again too often, more are not sent again for up to an hour', {
        limit: refusal,
      });
  }
}

/** In a conversation of two nobody asks for a device of another person. */
function speaksForItself({ attrs: { from, participant } }: BinaryNode): boolean {
  return participant === undefined || areJidsSameUser(participant, from);
}

function isPerson(jid: string | undefined): boolean {
  return PERSONS.has(jidDecode(jid)?.server ?? '');
}

function idsOf(node: BinaryNode): string[] {
  const items = getAllBinaryNodeChildren(node).flatMap((list) => getBinaryNodeChildren(list, 'item'));
  return [node, ...items].map(({ attrs }) => attrs.id ?? '');
}
