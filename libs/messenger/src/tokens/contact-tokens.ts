import { createHmac } from 'node:crypto';
import { spellingsOf } from '@gateway/contracts/people/phone-number';
import type { HistoryCreds } from '../history/own-creds.js';
import type { AuthState } from '../keys/auth-state.js';
import {
  areJidsSameUser,
  type BaileysSocket,
  type BinaryNode,
  jidDecode,
  jidEncode,
  jidNormalizedUser,
  type SignalDataTypeMap,
} from '../socket/baileys.js';
import { isTokenValid } from './token-buckets.js';
import { watchSettings } from './watch-settings.js';

export interface ContactTokensDeps {
  sock: BaileysSocket;
  auth: AuthState;
}

/** From the network's settings: which tokens it requires. */
const SETTINGS = { given: '10518', made: '24941' };

/**
 * The token of a message that the network requires since 2026: the one that this
 * person gave the account (`tctoken`), else one made from the account's salt (`cstoken`), else none. Never two: the
 * library, which would add the first, is prevented from it, and both are decided here.
 */
export class ContactTokens {
  readonly #deps: ContactTokensDeps;

  constructor(deps: ContactTokensDeps) {
    this.#deps = deps;
    Object.defineProperty(deps.sock.serverProps, 'privacyTokenOn1to1', { get: () => false, set() {} });
    watchSettings(deps.sock, (settings) => this.#keepSettings(settings));
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

  /**
   * Which of these numbers have given the account a usable token. By its keys alone; its own number needs none.
   * Numbers are digits, as they were asked for.
   */
  async findGivers(numbers: readonly string[]): Promise<Set<string>> {
    const { sock, auth } = this.#deps;
    const people = numbers.flatMap((number) => spellingsOf(number).map((user) => ({ number, user })));
    const users = people.map(({ user }) => user);
    const lids = await auth.keys.get('lid-mapping', users);
    const idOf = (user: string) => (lids[user] ? jidEncode(lids[user], 'lid') : jidEncode(user, 's.whatsapp.net'));
    const isShown = this.#creds.showsTokens?.given !== false;
    const entries = isShown ? await auth.keys.get('tctoken', users.map(idOf)) : {};
    const own = jidDecode(sock.user?.id)?.user;
    const givers = people.filter(({ user }) => user === own || isGood(entries[idOf(user)]));
    return new Set(givers.map(({ number }) => number));
  }

  async #givenBy(id: string): Promise<BinaryNode | undefined> {
    if (this.#creds.showsTokens?.given === false) return undefined;
    const { [id]: entry } = await this.#deps.auth.keys.get('tctoken', [id]);
    return entry && isGood(entry) ? { tag: 'tctoken', attrs: {}, content: entry.token } : undefined;
  }

  async #madeFor(lid: string): Promise<BinaryNode | undefined> {
    if (this.#creds.showsTokens?.made === false) return undefined;
    const { nctSalt } = this.#creds;
    if (!nctSalt) return undefined;
    const content = createHmac('sha256', Buffer.from(nctSalt, 'base64')).update(lid).digest();
    return { tag: 'cstoken', attrs: {}, content };
  }

  #keepSettings(settings: ReadonlyMap<string, boolean>): void {
    const before = this.#creds.showsTokens;
    const [given, made] = [settings.get(SETTINGS.given), settings.get(SETTINGS.made)];
    const showsTokens = { ...before, ...(given !== undefined && { given }), ...(made !== undefined && { made }) };
    if (showsTokens.given === before?.given && showsTokens.made === before?.made) return;
    this.#creds.showsTokens = showsTokens;
    // A failure ends the session by way of the key store.
    this.#deps.auth.saveCreds().catch(() => {});
  }

  get #creds(): HistoryCreds {
    return this.#deps.auth.creds;
  }

  async #lidOf(jid: string): Promise<string | undefined> {
    if (jid.endsWith('@lid')) return jidNormalizedUser(jid);
    const { lidMapping } = this.#deps.sock.signalRepository;
    return (await lidMapping.getLIDForPN(jidNormalizedUser(jid))) ?? undefined;
  }
}

function isGood(entry: SignalDataTypeMap['tctoken'] | undefined): boolean {
  return entry !== undefined && entry.token?.length > 0 && isTokenValid(Number(entry.timestamp ?? 0));
}
