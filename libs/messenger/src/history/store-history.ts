import { readAddressing, type StoredCreds } from '../addressing/addressing-state.js';
import type { AuthState } from '../keys/auth-state.js';
import { ownUsers } from '../lookup/is-own-phone.js';
import type { SessionCaches } from '../lookup/session-caches.js';
import type { KnownPerson, OnSessionEvent } from '../session/session-events.js';
import type { AuthenticationCreds } from '../socket/baileys.js';
import { isTokenValid } from '../tokens/token-buckets.js';
import type { HistoryCreds } from './own-creds.js';
import type { ConversationToken, HistoryFacts } from './read-history.js';

export interface StoreHistoryDeps {
  auth: AuthState;
  caches: SessionCaches;
  onEvent: OnSessionEvent;
}

const KEYS_PER_COMMIT = 500;

type TokenEntries = Awaited<ReturnType<typeof readTokens>>;

/**
 * Stores data of a history with the account's keys. A history may be old: existing and newer values stay.
 * Safe to repeat. Rejects when the key store fails; then the session ends.
 */
export async function storeHistory(deps: StoreHistoryDeps, facts: HistoryFacts): Promise<void> {
  for (const some of inParts([...facts.lids])) await seedLids(deps, some);
  const tokens = facts.tokens.filter(({ timestamp }) => isTokenValid(timestamp));
  for (const some of inParts(tokens)) await storeTokens(deps, some);
  const creds = deps.auth.creds as HistoryCreds;
  if (facts.salt) creds.nctSalt = facts.salt.toString('base64');
  if (facts.lidMigrationTimestamp !== undefined) noteMigration(deps.auth.creds, facts.lidMigrationTimestamp);
  await deps.auth.saveCreds();
}

/** From the phone only: what the network has reported since is newer. */
function noteMigration(creds: AuthenticationCreds, timestamp: number): void {
  (creds as HistoryCreds).lidMigrationTimestamp = timestamp;
  const { namespace, ...rest } = readAddressing(creds);
  if (namespace === 'unknown') (creds as StoredCreds).addressing = { ...rest, namespace: 'lid', isTold: true };
}

/** Only pairs of which neither side is known: pairs from messages and answers of the network are newer. */
async function seedLids(
  { auth: { creds, keys }, caches, onEvent }: StoreHistoryDeps,
  pairs: [pn: string, lid: string][],
): Promise<void> {
  const own = ownUsers(creds.me);
  const known = await keys.get(
    'lid-mapping',
    pairs.flatMap(([pn, lid]) => [pn, `${lid}_reverse`]),
  );
  const entries: Record<string, string> = {};
  const people: KnownPerson[] = [];
  for (const [pn, lid] of pairs) {
    if (known[pn] || known[`${lid}_reverse`] || own.has(pn) || own.has(lid)) continue;
    entries[pn] = lid;
    entries[`${lid}_reverse`] = pn;
    people.push({ phone: pn, hiddenId: `${lid}@lid` });
    caches.withoutLid.delete(pn);
  }
  if (people.length === 0) return;
  await keys.set({ 'lid-mapping': entries });
  void onEvent({ kind: 'numbersKnown', people });
}

async function storeTokens({ auth: { keys } }: StoreHistoryDeps, tokens: ConversationToken[]): Promise<void> {
  const placed = await placeTokens(keys, tokens);
  const known = await readTokens(keys, [...placed.keys()]);
  const entries: TokenEntries = {};
  for (const [id, { token, timestamp, senderTimestamp }] of placed) {
    const before = known[id];
    if (Number(before?.timestamp ?? 0) >= timestamp && before?.token.length) continue;
    const given = Math.max(before?.senderTimestamp ?? 0, senderTimestamp ?? 0);
    entries[id] = { token, timestamp: String(timestamp), ...(given > 0 && { senderTimestamp: given }) };
  }
  const ids = Object.keys(entries);
  if (ids.length === 0) return;
  await keys.set({ tctoken: { ...entries, __index: { token: Buffer.from(JSON.stringify(ids)) } } });
}

function readTokens(keys: AuthState['keys'], ids: string[]) {
  return keys.get('tctoken', ids);
}

/** By the jid that they are stored under: the hidden one, where it is known. The newest of each. */
async function placeTokens(
  keys: AuthState['keys'],
  tokens: ConversationToken[],
): Promise<Map<string, ConversationToken>> {
  const userOf = (jid: string) => jid.slice(0, jid.indexOf('@'));
  const isHidden = ({ jid }: ConversationToken) => jid.endsWith('@lid');
  const numbers = tokens.filter((each) => !isHidden(each)).map(({ jid }) => userOf(jid));
  const lids = await keys.get('lid-mapping', numbers);
  const placed = new Map<string, ConversationToken>();
  for (const each of tokens) {
    const lid = isHidden(each) ? undefined : lids[userOf(each.jid)];
    const id = lid ? `${lid}@lid` : each.jid;
    if ((placed.get(id)?.timestamp ?? 0) < each.timestamp) placed.set(id, each);
  }
  return placed;
}

function* inParts<Item>(items: Item[]): Generator<Item[]> {
  for (let from = 0; from < items.length; from += KEYS_PER_COMMIT) yield items.slice(from, from + KEYS_PER_COMMIT);
}
