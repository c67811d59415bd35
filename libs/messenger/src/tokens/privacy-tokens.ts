import type { SessionCaches } from '../lookup/session-caches.js';
import {
  type AuthenticationState,
  type BaileysSocket,
  type BinaryNode,
  jidNormalizedUser,
  S_WHATSAPP_NET,
  type SignalDataTypeMap,
} from '../socket/baileys.js';
import { bucketOf, nowSeconds } from './token-buckets.js';

export interface PrivacyTokensDeps {
  sock: BaileysSocket;
  keys: AuthenticationState['keys'];
  caches: SessionCaches;
  /** Aborted when the session ends. */
  signal: AbortSignal;
}

type TokenEntry = SignalDataTypeMap['tctoken'];

const GATHER_MS = 500;
const MAX_TOKENS = 100;

/**
 * Issues the privacy tokens that go with the first message of a week to a contact. The library does so with a query per
 * message, and does not remember it: it writes to a transaction that has ended by then. Here the contacts of half a second
 * share a query, once the network has accepted the messages to them; its answer carries nothing.
 *
 * A token that is not issued, because the session ended, is issued with the next message.
 */
export class PrivacyTokens {
  readonly #deps: PrivacyTokensDeps;
  /** Accepted and without a token: the key of the contact's entry, and the jid to issue to. */
  #waiting = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: PrivacyTokensDeps) {
    this.#deps = deps;
    deps.caches.tokensToIssue.clear();
    deps.signal.addEventListener('abort', () => clearTimeout(this.#timer), { once: true });
  }

  /** Call it before a message: from then on the library believes that this contact has a token. */
  async takeOver(jid: string): Promise<void> {
    const { caches, keys } = this.#deps;
    if (caches.issuedTokens.get(jid) === bucketOf(nowSeconds())) return;
    const id = await this.#keyOf(jid);
    if (caches.tokensToIssue.has(id)) return;
    const { [id]: entry } = await keys.get('tctoken', [id]);
    if (bucketOf(entry?.senderTimestamp ?? 0) === bucketOf(nowSeconds())) this.#remember(jid);
    else caches.tokensToIssue.add(id);
  }

  /** The network has accepted a message to this contact. */
  async accepted(jid: string): Promise<void> {
    const { caches, signal } = this.#deps;
    if (caches.issuedTokens.get(jid) === bucketOf(nowSeconds()) || signal.aborted) return;
    const id = await this.#keyOf(jid);
    if (!caches.tokensToIssue.has(id)) return;
    this.#waiting.set(id, jid);
    if (this.#waiting.size >= MAX_TOKENS) this.#issueSoon(0);
    else if (this.#waiting.size === 1) this.#issueSoon(GATHER_MS);
  }

  /** The network has not: a stranger remains a stranger. */
  async refused(jid: string): Promise<void> {
    const { caches, signal } = this.#deps;
    if (signal.aborted || caches.tokensToIssue.size === 0) return;
    const id = await this.#keyOf(jid);
    if (!this.#waiting.has(id)) caches.tokensToIssue.delete(id);
  }

  #issueSoon(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#issue(), ms);
    this.#timer.unref();
  }

  async #issue(): Promise<void> {
    const { keys, caches } = this.#deps;
    const batch = this.#waiting;
    this.#waiting = new Map();
    const issuedAt = nowSeconds();
    try {
      await this.#query(batch, issuedAt);
      const before = await keys.get('tctoken', [...batch.keys()]);
      // Without those who were forgotten since the message: `forgetCached`.
      const issued = [...batch].filter(([id]) => caches.tokensToIssue.has(id));
      const entries: Record<string, TokenEntry> = {};
      for (const [id] of issued) entries[id] = { token: Buffer.alloc(0), ...before[id], senderTimestamp: issuedAt };
      await keys.set({
        tctoken: { ...entries, __index: { token: Buffer.from(JSON.stringify(Object.keys(entries))) } },
      });
      for (const [, jid] of issued) this.#remember(jid);
    } catch {
      // Session ended, or refused: keys that cannot be read or written end the session by way of the key store.
    } finally {
      for (const id of batch.keys()) caches.tokensToIssue.delete(id);
    }
  }

  async #query(batch: ReadonlyMap<string, string>, issuedAt: number): Promise<void> {
    const { sock } = this.#deps;
    const toLids = sock.serverProps.lidTrustedTokenIssueToLid;
    const jids = await Promise.all([...batch].map(([id, jid]) => (toLids ? id : this.#numberOf(jid))));
    const tokens: BinaryNode[] = jids.map((jid) => ({
      tag: 'token',
      attrs: { jid, t: String(issuedAt), type: 'trusted_contact' },
    }));
    await sock.query({
      tag: 'iq',
      attrs: { to: S_WHATSAPP_NET, type: 'set', xmlns: 'privacy' },
      content: [{ tag: 'tokens', attrs: {}, content: tokens }],
    });
  }

  /** Tokens are issued to numbers, unless the network says otherwise; however the message was addressed. */
  async #numberOf(jid: string): Promise<string> {
    if (!jid.endsWith('@lid')) return jid;
    const pn = await this.#deps.sock.signalRepository.lidMapping.getPNForLID(jid);
    return pn ? jidNormalizedUser(pn) : jid;
  }

  #remember(jid: string): void {
    this.#deps.caches.issuedTokens.set(jid, bucketOf(nowSeconds()));
  }

  /** Entries are stored under the hidden identifier, if there is one. */
  async #keyOf(jid: string): Promise<string> {
    return (await this.#deps.sock.signalRepository.lidMapping.getLIDForPN(jid)) ?? jid;
  }
}
