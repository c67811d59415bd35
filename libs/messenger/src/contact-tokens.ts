import { createHmac } from 'node:crypto';
import type { AuthState } from './auth-state.js';
import {
  areJidsSameUser,
  type BaileysSocket,
  type BinaryNode,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  jidNormalizedUser,
} from './baileys.js';
import type { HistoryCreds } from './history/own-creds.js';
import { isTokenValid } from './token-buckets.js';
import { within } from './within.js';

export interface ContactTokensDeps {
  sock: BaileysSocket;
  auth: AuthState;
  /** Resolves when the account's first history was taken. */
  firstHistory: Promise<void>;
  /** Aborted when the session ends. */
  signal: AbortSignal;
}

/** Of the settings that the network hands out: which tokens it wants to see. */
const SETTINGS: Record<string, 'given' | 'made'> = { 10518: 'given', 24941: 'made' };
/**
 * So long after its first login a device waits for the history of its phone, as strangers are refused without its salt;
 * the longer one when the network has said that it wants to see what is made of it.
 */
const FIRST_HISTORY_MS = 5_000;
const WANTED_HISTORY_MS = 20_000;

/**
 * What a message shows so that it may reach the one it is for, as the network asks since 2026: the token that this
 * person gave the account (`tctoken`), else one made of the account's salt (`cstoken`), else nothing. Never two: the
 * library, which would add the first, is kept from doing so, and both are decided here.
 */
export class ContactTokens {
  readonly #deps: ContactTokensDeps;
  readonly #beganAtMs = Date.now();

  constructor(deps: ContactTokensDeps) {
    this.#deps = deps;
    Object.defineProperty(deps.sock.serverProps, 'privacyTokenOn1to1', { get: () => false, set() {} });
    deps.sock.ws.on('CB:iq,,props', (answer: BinaryNode) => this.#readSettings(answer));
  }

  /** The children that a message to this person needs. Rejects when keys cannot be read: then the session ends. */
  async nodesFor(jid: string): Promise<BinaryNode[]> {
    const { user } = this.#deps.sock;
    if (areJidsSameUser(jid, user?.id) || areJidsSameUser(jid, user?.lid)) return [];
    const lid = await this.#lidOf(jid);
    const given = await this.#givenBy(lid ?? jid);
    const shown = given ?? (lid ? await this.#madeFor(lid) : undefined);
    return shown ? [shown] : [];
  }

  async #givenBy(id: string): Promise<BinaryNode | undefined> {
    if (this.#creds.showsTokens?.given === false) return undefined;
    const { [id]: entry } = await this.#deps.auth.keys.get('tctoken', [id]);
    const isGood = entry?.token?.length && isTokenValid(Number(entry.timestamp ?? 0));
    return isGood ? { tag: 'tctoken', attrs: {}, content: entry.token } : undefined;
  }

  async #madeFor(lid: string): Promise<BinaryNode | undefined> {
    if (this.#creds.showsTokens?.made === false) return undefined;
    await this.#awaitSalt();
    const { nctSalt } = this.#creds;
    if (!nctSalt) return undefined;
    const content = createHmac('sha256', Buffer.from(nctSalt, 'base64')).update(lid).digest();
    return { tag: 'cstoken', attrs: {}, content };
  }

  /** Once in the life of a linked device, and for a bounded time. */
  async #awaitSalt(): Promise<void> {
    if ((this.#creds.loginCounter ?? 0) > 1) return;
    await this.#awaitHistory(FIRST_HISTORY_MS);
    if (this.#creds.showsTokens?.made) await this.#awaitHistory(WANTED_HISTORY_MS);
  }

  async #awaitHistory(afterMs: number): Promise<void> {
    const { hasHistory, nctSalt } = this.#creds;
    const timeoutMs = this.#beganAtMs + afterMs - Date.now();
    if (nctSalt || hasHistory || timeoutMs <= 0) return;
    const { firstHistory, signal } = this.#deps;
    await within({ timeoutMs, what: 'first history', signal }, firstHistory).catch(() => {});
  }

  /** The library says which settings it has, and the network then leaves out what has not changed: so they are kept. */
  #readSettings(answer: BinaryNode): void {
    const before = this.#creds.showsTokens;
    const showsTokens = { ...before };
    for (const { attrs } of getBinaryNodeChildren(getBinaryNodeChild(answer, 'props'), 'prop')) {
      const name = SETTINGS[attrs.config_code ?? ''];
      const value = attrs.config_value;
      if (name && value !== undefined) showsTokens[name] = value === '1' || value === 'true';
    }
    if (showsTokens.given === before?.given && showsTokens.made === before?.made) return;
    this.#creds.showsTokens = showsTokens;
    // A failure ends the session by way of the key store.
    this.#deps.auth.saveCreds().catch(() => {});
  }

  get #creds(): HistoryCreds & { loginCounter?: number } {
    return this.#deps.auth.creds;
  }

  async #lidOf(jid: string): Promise<string | undefined> {
    if (jid.endsWith('@lid')) return jidNormalizedUser(jid);
    const { lidMapping } = this.#deps.sock.signalRepository;
    return (await lidMapping.getLIDForPN(jidNormalizedUser(jid))) ?? undefined;
  }
}
