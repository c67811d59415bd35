import { storeLater } from '../keys/store-later.js';
import { type Prepared, prepareAccounts } from '../sending/prepare-accounts.js';
import type { OptionalQueries } from '../session/optional-queries.js';
import { networkCodeOf, SessionEndedError, TimeoutError } from '../session/session-errors.js';
import type { LookUpResult } from '../session/session-types.js';
import { within } from '../session/within.js';
import { type BaileysSocket, type BinaryNode, type FullJid, jidDecode, jidNormalizedUser } from '../socket/baileys.js';
import { RightOfWay } from '../socket/right-of-way.js';
import { askByJid } from './ask-users.js';
import { GatheredNumbers, type LookUpResults, MAX_NUMBERS } from './gather-numbers.js';
import { type Account, resolveNumbers, resolveOwnAccount } from './resolve-numbers.js';
import { PARTIAL_TTL_MS, type SessionCaches, STRANGER_TTL_MS } from './session-caches.js';

export interface LookUpDeps {
  sock: BaileysSocket;
  caches: SessionCaches;
  optional?: OptionalQueries;
  /** Aborted when the session ends. */
  signal: AbortSignal;
}

/** An account of the answers; our own has no number. `ttl`: the rest of the time, in ms, for which its devices are known. */
interface Found {
  number?: string;
  account: Account & { ttl?: number };
}

/** The known data of a person at the time the network reported another hidden identifier. */
interface DevicesBefore {
  jid: string;
  devices: FullJid[] | undefined;
  ttl: number;
}

/** One question to the network, and the work on its answer. */
interface Query {
  isUrgent: boolean;
  /** Someone who is urgent shares it. */
  isHastened: boolean;
}

const AT_ONCE: Query = { isUrgent: true, isHastened: false };
const CHUNK_TIMEOUT_MS = 60_000;
const NO_ANSWER = 408;
const CLOSED = 428;
const FAILED = 500;

/**
 * Looks up which numbers are on the messenger and which devices they have, and makes the Signal sessions that are
 * missing: two round trips for a hundred numbers, after which a send needs none.
 *
 * The library's own lookups serve one message at a time, throw for the whole batch when one user has an error,
 * replace sessions that were good, and do not ask whether a number exists.
 */
export class LookUp {
  readonly #deps: LookUpDeps;
  /** Two callers that want the same number share one question. */
  readonly #underWay = new Map<string, Promise<LookUpResult>>();
  /** Of each number that is asked about now. */
  readonly #queries = new Map<string, Query>();
  /** Making sessions for a list takes a second of CPU; urgent messages go in between. */
  readonly #rightOfWay = new RightOfWay();
  readonly #gathered = new GatheredNumbers((numbers) => this.#ask(numbers, { isUrgent: false }));
  #refreshing: Promise<void> = Promise.resolve();

  constructor(deps: LookUpDeps) {
    this.#deps = deps;
    deps.sock.ws.on('CB:notification,type:devices', (node: BinaryNode) => {
      // A mapping that cannot be read ends the session by way of the key store.
      this.#onDevicesChanged(node).catch(() => {});
    });
  }

  /** Every number gets a result: never rejects. What is not urgent is asked together with what others want to know. */
  lookUp(numbers: readonly string[], { urgent = false }: { urgent?: boolean } = {}): Promise<LookUpResults> {
    return urgent ? this.#rightOfWay.urgently(() => this.#lookUp(numbers, urgent)) : this.#lookUp(numbers, urgent);
  }

  /** While this runs, what is not urgent waits where it would work on answers, or make sessions. */
  urgently<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#rightOfWay.urgently(work);
  }

  async #lookUp(numbers: readonly string[], urgent: boolean): Promise<LookUpResults> {
    const waits = new Map<string, LookUpResult | Promise<LookUpResult>>();
    const fresh: string[] = [];
    for (const number of new Set(numbers)) {
      const isShared = !urgent || this.#isAsked(number);
      const known = this.find(number) ?? (isShared ? this.#underWay.get(number) : undefined);
      if (known) waits.set(number, known);
      else if (urgent) fresh.push(number);
      else waits.set(number, this.#share(number, this.#gathered.add(number)));
      if (urgent) this.#hasten(number);
    }
    let previous: Promise<unknown> = Promise.resolve();
    for (let from = 0; from < fresh.length; from += MAX_NUMBERS) {
      const chunk = fresh.slice(from, from + MAX_NUMBERS);
      const answer = previous.then(() => this.#ask(chunk, { isUrgent: urgent }));
      for (const number of chunk) waits.set(number, this.#askAtOnce(number, answer));
      previous = answer;
    }
    const results: LookUpResults = new Map();
    for (const [number, wait] of waits) results.set(number, await wait);
    return results;
  }

  /** Of a number that waits for a query the network does not know yet. */
  #isAsked(number: string): boolean {
    return this.#underWay.has(number) && !this.#gathered.isWaiting(number);
  }

  /** If it is asked about already: who is urgent would wait for a query that gives way to it. */
  #hasten(number: string): void {
    const query = this.#queries.get(number);
    if (!query) return;
    query.isHastened = true;
    this.#rightOfWay.lookAgain();
  }

  /** Those who wait for a later query get the answer of this one. */
  #askAtOnce(number: string, answer: Promise<LookUpResults>): Promise<LookUpResult> {
    this.#gathered.takeOut(number, answer);
    return this.#underWay.get(number) ?? this.#share(number, answer);
  }

  /** What is known about a number without asking. `exists: true` means that a send to it needs no lookup. */
  find(number: string): Extract<LookUpResult, { exists: boolean }> | undefined {
    const contact = this.#deps.caches.contacts.get(number);
    if (!contact?.exists) return contact;
    return this.#knowsDevices(contact.jid) && this.#knowsDevices(this.#ownJid()) ? { exists: true } : undefined;
  }

  /** The two names of the account behind a number; `undefined` for one that was not found. */
  namesOf(number: string): { jid: string; lid: string | undefined } | undefined {
    const contact = this.#deps.caches.contacts.get(number);
    return contact?.exists ? contact : undefined;
  }

  /** Whether a jid is a device of the account behind a number, as the network listed them when it was looked up. */
  hasDevice(number: string, jid: string): boolean {
    return this.#listsDevice(this.namesOf(number), jid);
  }

  /** Whether a jid is another device of our own account, as the network listed them at the last lookup. */
  hasOwnDevice(jid: string): boolean {
    const [ownJid, ownLid] = this.#ownNames();
    return this.#listsDevice({ jid: ownJid, lid: ownLid }, jid);
  }

  #listsDevice(names: { jid: string | undefined; lid: string | undefined } | undefined, jid: string): boolean {
    const { user, server = '', device = 0 } = jidDecode(jid) ?? {};
    // The digits of a hidden identifier may be those of a number.
    const name = userOf(server.endsWith('lid') ? names?.lid : names?.jid);
    if (!user || name !== user) return false;
    return this.#deps.caches.devices.get(user)?.some((known) => (known.device ?? 0) === device) ?? false;
  }

  /** Asks the network although the answer may be known: names and devices of people change. */
  async lookUpAnew(number: string): Promise<LookUpResult> {
    this.forgetDevices(number);
    this.#deps.caches.contacts.delete(number);
    return (await this.lookUp([number])).get(number) ?? { error: FAILED };
  }

  /** The network reports that our device lists are outdated, the recipient's or our own: the next lookup asks again. */
  forgetDevices(number: string): void {
    const names = this.namesOf(number);
    for (const jid of [names?.jid, names?.lid, ...this.#ownNames()]) this.#deps.caches.devices.delete(userOf(jid));
  }

  /** Resolves when no question about these numbers is under way, and what was answered is stored. */
  async settled(numbers: readonly string[]): Promise<void> {
    for (const number of numbers) await this.#underWay.get(number);
  }

  /**
   * The network says that a person has another hidden identifier by now: asked for by number, one person at a time. What
   * was known is forgotten at once, as messages to the old one count against the account.
   */
  refreshLid(number: string): void {
    const { caches } = this.#deps;
    const names = this.namesOf(number);
    // The network may go on saying it of messages that were under way, or for reasons of its own.
    if (!names || caches.refreshedLids.has(names.jid)) return;
    caches.refreshedLids.set(names.jid, true);
    const user = userOf(names.jid);
    const before = {
      jid: names.jid,
      devices: caches.devices.get(user),
      ttl: Math.max(1, caches.devices.getRemainingTTL(user)),
    };
    for (const jid of [names.jid, names.lid]) caches.devices.delete(userOf(jid));
    caches.contacts.delete(number);
    this.#refreshing = this.#refreshing.then(async () => {
      // A message to this person may have been faster.
      const isAsked = this.#underWay.has(number) || caches.contacts.has(number);
      if (!isAsked) await this.#share(number, this.#inTime([number], this.#refreshLid(number, before)));
    });
  }

  /** One query. By number the network names no devices: known devices of a person stay. */
  async #refreshLid(number: string, { jid, devices, ttl }: DevicesBefore): Promise<LookUpResults> {
    const { sock, signal } = this.#deps;
    if (signal.aborted) throw new SessionEndedError();
    const [user] = await askByJid(sock, [jid]);
    if (!user?.lid || !devices || !this.#knowsDevices(this.#ownJid()))
      return this.#resolveAndPrepare([number], AT_ONCE);
    const known = devices.map(({ server, device = 0 }) => ({ id: device, isHosted: server === 'hosted' }));
    const named = user.devices?.length ? { devices: user.devices } : { devices: known, ttl };
    return this.#prepare([{ number, account: { jid, lid: user.lid, ...named } }], AT_ONCE);
  }

  #share(number: string, answer: Promise<LookUpResults>): Promise<LookUpResult> {
    const result = answer.then((results) => results.get(number) ?? { error: FAILED });
    this.#underWay.set(number, result);
    void result.then(() => this.#underWay.delete(number));
    return result;
  }

  /** Never rejects. */
  async #ask(numbers: readonly string[], { isUrgent }: Pick<Query, 'isUrgent'>): Promise<LookUpResults> {
    const query = { isUrgent, isHastened: false };
    for (const number of numbers) this.#queries.set(number, query);
    const results = await this.#inTime(numbers, this.#resolveAndPrepare(numbers, query));
    for (const number of numbers) this.#queries.delete(number);
    return results;
  }

  /** Never rejects. */
  async #inTime(numbers: readonly string[], work: Promise<LookUpResults>): Promise<LookUpResults> {
    const limit = { timeoutMs: CHUNK_TIMEOUT_MS, what: 'lookup', signal: this.#deps.signal };
    try {
      return await within(limit, work);
    } catch (thrown) {
      const error = codeOf(thrown);
      return new Map(numbers.map((number) => [number, { error }]));
    }
  }

  async #resolveAndPrepare(numbers: readonly string[], query: Query): Promise<LookUpResults> {
    const { sock, caches } = this.#deps;
    const [resolved, ourselves] = await Promise.all([
      resolveNumbers(sock, numbers, { optional: this.#deps.optional, before: caches.refused }),
      this.#resolveOurselves(),
    ]);
    await this.#giveWay(query);
    const results: LookUpResults = new Map();
    const found: Found[] = ourselves.map((account) => ({ account }));
    for (const [number, result] of resolved) {
      if ('account' in result) found.push({ number, account: result.account });
      else results.set(number, result);
      if ('exists' in result) caches.contacts.set(number, result, { ttl: STRANGER_TTL_MS });
    }
    return new Map([...results, ...(await this.#prepare(found, query))]);
  }

  /** Prepares sends to these accounts, and caches the result. */
  async #prepare(found: readonly Found[], query: Query): Promise<LookUpResults> {
    const { sock, caches } = this.#deps;
    const results: LookUpResults = new Map();
    const giveWay = () => this.#giveWay(query);
    const accounts = found.map(({ account }) => account);
    const later = storeLater();
    const prepared = await later.run(() => prepareAccounts({ sock, caches, giveWay }, accounts));
    await giveWay();
    await later.storeNow();
    await giveWay();
    prepared.forEach((outcome, index) => {
      const { number, account } = found[index]!;
      if ('devices' in outcome) this.#rememberDevices(account, outcome);
      if (number === undefined) return;
      if ('devices' in outcome) caches.contacts.set(number, { exists: true, jid: account.jid, lid: account.lid });
      results.set(number, 'error' in outcome ? outcome : { exists: true });
    });
    return results;
  }

  async #giveWay(query: Query): Promise<void> {
    if (!query.isUrgent) await this.#rightOfWay.giveWay({ unless: () => query.isHastened });
  }

  /** Every message also goes to our own other devices. */
  async #resolveOurselves(): Promise<Account[]> {
    const jid = this.#ownJid();
    if (this.#knowsDevices(jid)) return [];
    const { sock, caches } = this.#deps;
    const account = await resolveOwnAccount(sock, jid, caches.ownDevices.get(jid));
    if (!account.isGuess) caches.ownDevices.set(jid, account.devices);
    return [account];
  }

  /** Under both names: the account's namespace decides which one a message uses. */
  #rememberDevices(
    { jid, lid, ttl }: Found['account'],
    { devices, isPartial }: Extract<Prepared, { devices: FullJid[] }>,
  ): void {
    const { caches } = this.#deps;
    const options = isPartial ? { ttl: PARTIAL_TTL_MS } : ttl === undefined ? {} : { ttl };
    caches.devices.set(userOf(jid), devices, options);
    if (!lid) return;
    const { user } = jidDecode(lid)!;
    const toLid = ({ server, device }: FullJid) => ({
      user,
      server: server === 'hosted' ? 'hosted.lid' : 'lid',
      device,
    });
    caches.devices.set(user, devices.map(toLid) as FullJid[], options);
  }

  /** The library keeps the list up to date that it finds under the address of the notification; ours are two. */
  async #onDevicesChanged({ attrs: { from } }: BinaryNode): Promise<void> {
    const { authState, signalRepository } = this.#deps.sock;
    const { user, server } = jidDecode(from) ?? {};
    if (!user) return;
    if (server === 'lid') {
      const jid = await signalRepository.lidMapping.getPNForLID(jidNormalizedUser(from));
      if (jid) this.#deps.caches.devices.delete(userOf(jid));
    } else {
      // Not by the library's mapping: it would ask the network for one that it does not have.
      const { [user]: lidUser } = await authState.keys.get('lid-mapping', [user]);
      if (lidUser) this.#deps.caches.devices.delete(lidUser);
    }
  }

  #ownJid(): string {
    return jidNormalizedUser(this.#deps.sock.user?.id);
  }

  #ownNames(): string[] {
    return [this.#ownJid(), jidNormalizedUser(this.#deps.sock.user?.lid)];
  }

  #knowsDevices(jid: string): boolean {
    return this.#deps.caches.devices.has(userOf(jid));
  }
}

function userOf(jid: string | undefined): string {
  return jidDecode(jid)?.user ?? '';
}

function codeOf(thrown: unknown): number {
  if (thrown instanceof TimeoutError) return NO_ANSWER;
  if (thrown instanceof SessionEndedError) return CLOSED;
  return networkCodeOf(thrown) ?? FAILED;
}
