import type { Logger } from '@gateway/runtime/logs/logger';
import { inNamespace } from '../addressing/other-name.js';
import type { RetryOutcome } from '../codes/retry-outcomes.js';
import { confirmStanza } from '../inbound/confirm-unread.js';
import {
  areJidsSameUser,
  type BaileysSocket,
  type BinaryNode,
  getAllBinaryNodeChildren,
  getBinaryNodeChildren,
  jidDecode,
  jidNormalizedUser,
} from '../socket/baileys.js';
import type { Recipients } from './recipients.js';
import { ResendBudget } from './resend-budget.js';
import type { ResendRequest } from './resend-messages.js';

export interface AnswerRetriesDeps {
  sock: BaileysSocket;
  saveCreds(): Promise<void>;
  recipients: Pick<Recipients, 'of' | 'mayHave' | 'isOurs'>;
  /** Sends messages again to the device that asks. Rejects when one was not written. */
  resend(request: ResendRequest): Promise<void>;
  /** Whether the content of this message is still kept. */
  hasMessage(platformId: string): Promise<boolean>;
  logger: Logger;
  /** Aborted when the session ends: unanswered requests come again at the next login. */
  signal: AbortSignal;
}

type Refusal = 'contact' | 'account' | 'somebodyElse';
type Decision = 'granted' | 'notOurs' | 'notRead' | Refusal;
type Verdict = Exclude<Decision, 'granted'> | { to: string };

/** We only send to persons: requests for messages of groups or broadcasts are about messages that we never sent. */
const PERSONS: ReadonlySet<string> = new Set(['s.whatsapp.net', 'lid', 'hosted', 'hosted.lid']);
const LOG_AGAIN_MS = 60 * 60_000;

/**
 * Decides whether a message is sent again to a phone that could not decrypt it. The library does not: it would answer under
 * the name in the request, and without the number and the token that the network requires of every message.
 *
 * Anyone can ask, with invented or learned ids: the message must have gone to the person that asks, and the
 * device must be one that the network lists as theirs, or as ours. Only messages that were sent cost a lookup, and count.
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

  /** Answers and confirms the request, or only confirms it. Rejects when the tally could not be stored. */
  async answer(node: BinaryNode): Promise<RetryOutcome> {
    const device = node.attrs.participant ?? node.attrs.from ?? '';
    const inNameOf = this.#personOf(node) ?? device;
    const isPersonal = isPerson(node.attrs.from) && isPerson(inNameOf) && speaksForItself(node);
    if (!isPersonal) {
      confirmStanza(this.#deps.sock, node);
      return 'not_ours';
    }
    const ids = idsOf(node);
    const verdict = await this.#judge({ device, inNameOf }, ids);
    if (typeof verdict === 'object') {
      await this.#answer({ node, device, ids, ...verdict });
      return 'answered';
    }
    switch (verdict) {
      case 'notOurs':
        confirmStanza(this.#deps.sock, node);
        return 'not_ours';
      case 'notRead':
        // It stays unconfirmed: the network sends it again at the next login.
        return 'not_read';
      default:
        this.#refuse(node, verdict);
        return 'refused';
    }
  }

  /** Checks the recipient before any content is read: requests for messages to others are not counted. */
  async #judge(asking: { device: string; inNameOf: string }, ids: readonly string[]): Promise<Verdict> {
    const { recipients, logger } = this.#deps;
    let numbers: string[];
    try {
      numbers = [...(await recipients.of(ids)).values()];
      if (numbers.length === 0) return 'notOurs';
      const standing = await recipients.mayHave(asking, numbers);
      if (standing !== 'recipient') return standing === 'unclear' ? 'notRead' : standing;
    } catch (error) {
      logger.warn('the devices that may get a resend could not be read', { error });
      return 'notRead';
    }
    const limit = await this.#decideInTurn(jidNormalizedUser(await this.#numberOf(asking.inNameOf)), ids);
    return limit === 'granted' ? { to: numbers[0]! } : limit;
  }

  /** One at a time, so that concurrent requests read no more messages than may be sent. */
  #decideInTurn(contact: string, ids: readonly string[]): Promise<Decision> {
    const decided = this.#lastDecision.then(() => this.#decide(contact, ids));
    this.#lastDecision = decided.catch(() => {});
    return decided;
  }

  async #decide(contact: string, ids: readonly string[]): Promise<Decision> {
    const limit = this.#budget.limitOf(contact, ids.length);
    if (limit) return limit;
    const kept = await this.#countKept(ids);
    if (kept === undefined) return 'notRead';
    return kept === 0 ? 'notOurs' : this.#budget.take(contact, kept);
  }

  /** A request whose resend fails is confirmed anyway: the phone asks again, but the network would repeat the request forever. */
  async #answer(request: ResendRequest): Promise<void> {
    const { sock, signal, logger } = this.#deps;
    try {
      await this.#deps.resend(request);
    } catch (error) {
      if (signal.aborted) return;
      logger.warn('the message of a retry request could not be sent', { error });
    }
    confirmStanza(sock, request.node);
  }

  /** How many of the messages are ours; `undefined` if that could not be read. */
  async #countKept(ids: readonly string[]): Promise<number | undefined> {
    const { hasMessage, logger } = this.#deps;
    try {
      const found = await Promise.all([...new Set(ids)].map(hasMessage));
      return found.filter(Boolean).length;
    } catch (error) {
      logger.warn('the message of a retry request could not be read', { error });
      return undefined;
    }
  }

  /** The person, if one of our own devices asks for its copy of a message to them. */
  #personOf({ attrs: { from = '', recipient } }: BinaryNode): string | undefined {
    return this.#deps.recipients.isOurs(from) ? recipient : undefined;
  }

  #numberOf(jid: string): Promise<string> {
    return inNamespace(this.#deps.sock.authState.keys, jid, 'pn');
  }

  #refuse(node: BinaryNode, refusal: Refusal): void {
    const { sock, logger } = this.#deps;
    confirmStanza(sock, node);
    // A flood of requests must not become a flood of log lines.
    if (Date.now() - (this.#loggedAtMs.get(refusal) ?? 0) < LOG_AGAIN_MS) return;
    this.#loggedAtMs.set(refusal, Date.now());
    if (refusal === 'somebodyElse') logger.warn('a phone asked for a message that was not sent to it');
    else
      logger.warn('too many retry requests from phones, no more resends for up to an hour', {
        limit: refusal,
      });
  }
}

/** In a conversation of two, only devices of the two people ask. */
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
