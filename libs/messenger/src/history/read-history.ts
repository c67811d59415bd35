import { setImmediate } from 'node:timers/promises';
import { type FieldBudget, readFields } from './read-fields.js';

/** The parts of a history that we read: no messages and no names. */
export interface HistoryFacts {
  /** The salt of tokens for strangers. */
  salt?: Buffer;
  /** When the account's phone went over to hidden identifiers, Unix seconds. */
  lidMigrationTimestamp?: number;
  tokens: ConversationToken[];
  /** Users of hidden identifiers by users of numbers. */
  lids: Map<string, string>;
}

/** A token that a person gave to the account. */
export interface ConversationToken {
  jid: string;
  token: Buffer;
  /** Unix seconds. */
  timestamp: number;
  /** When the account last gave that person one. */
  senderTimestamp?: number;
}

type Names<Name extends string> = ReadonlyMap<number, Name>;
type Fields<Name extends string> = Partial<Record<Name, number | Uint8Array>>;

/** Of HistorySync. The library's definitions end before the salt. */
const HISTORY = { conversations: 2, globalSettings: 8, mappings: 15, salt: 19 };
const CONVERSATION = namesOf({ id: 1, token: 21, timestamp: 22, senderTimestamp: 28, pnJid: 39, lidJid: 42 });
const MAPPING = namesOf({ pnJid: 1, lidJid: 2 });
const SETTINGS = namesOf({ migratedAt: 20 });

/** Twenty thousand conversations of fifty fields. 64 MB may hold thirty times as many, and nothing in them. */
const MAX_FIELDS = 1_000_000;
/** A few milliseconds of work. */
const FIELDS_AT_A_TIME = 5_000;
const MAX_PEOPLE = 20_000;
const MAX_SECRET_BYTES = 256;
const MAX_JID_BYTES = 64;
const PN = /^([1-9]\d{4,19})@(?:s\.whatsapp\.net|c\.us)$/;
const LID = /^([1-9]\d{4,19})@lid$/;

/**
 * Reads a history that was inflated, in steps between which other work is done; what it returns shares no memory with
 * it. Rejects when it is malformed, or of more fields than a phone has to tell.
 */
export async function readHistory(bytes: Uint8Array): Promise<HistoryFacts> {
  const facts: HistoryFacts = { tokens: [], lids: new Map() };
  const budget: PacedBudget = { left: MAX_FIELDS, pauseAt: MAX_FIELDS - FIELDS_AT_A_TIME };
  for (const { id, value } of readFields(bytes, budget)) {
    if (isPauseDue(budget)) await setImmediate();
    if (typeof value !== 'number') await readPart(id, value, { facts, budget });
  }
  return facts;
}

interface PacedBudget extends FieldBudget {
  /** When so many are left, other work has its turn. */
  pauseAt: number;
}

function isPauseDue(budget: PacedBudget): boolean {
  if (budget.left >= budget.pauseAt) return false;
  budget.pauseAt = budget.left - FIELDS_AT_A_TIME;
  return true;
}

interface Reading {
  facts: HistoryFacts;
  budget: PacedBudget;
}

async function readPart(id: number, value: Uint8Array, { facts, budget }: Reading): Promise<void> {
  if (id === HISTORY.conversations) readConversation(await fieldsOf(value, CONVERSATION, budget), facts);
  else if (id === HISTORY.mappings) readMapping(await fieldsOf(value, MAPPING, budget), facts);
  else if (id === HISTORY.salt && isSecret(value)) facts.salt = Buffer.from(value);
  else if (id === HISTORY.globalSettings) readSettings(await fieldsOf(value, SETTINGS, budget), facts);
}

function readConversation(
  fields: Fields<typeof CONVERSATION extends Names<infer Name> ? Name : never>,
  facts: HistoryFacts,
): void {
  const jid = jidIn(fields.id);
  if (!jid) return;
  const side = jid.endsWith('@lid')
    ? { lidJid: fields.id, pnJid: fields.pnJid }
    : { pnJid: fields.id, lidJid: fields.lidJid };
  readMapping(side, facts);
  const { token, timestamp, senderTimestamp } = fields;
  if (!(token instanceof Uint8Array) || !isSecret(token) || facts.tokens.length >= MAX_PEOPLE) return;
  if (typeof timestamp !== 'number' || timestamp === 0) return;
  const given = typeof senderTimestamp === 'number' && senderTimestamp > 0 && { senderTimestamp };
  facts.tokens.push({ jid, token: Buffer.from(token), timestamp, ...given });
}

function readMapping({ pnJid, lidJid }: { pnJid?: unknown; lidJid?: unknown }, { lids }: HistoryFacts): void {
  const [pn, lid] = [PN.exec(textOf(pnJid))?.[1], LID.exec(textOf(lidJid))?.[1]];
  if (pn && lid && lids.size < MAX_PEOPLE) lids.set(pn, lid);
}

function readSettings({ migratedAt }: Fields<'migratedAt'>, facts: HistoryFacts): void {
  if (typeof migratedAt === 'number' && migratedAt > 0) facts.lidMigrationTimestamp = migratedAt;
}

/** The last of each of the fields with these numbers. */
async function fieldsOf<Name extends string>(
  bytes: Uint8Array,
  names: Names<Name>,
  budget: PacedBudget,
): Promise<Fields<Name>> {
  const found: Fields<Name> = {};
  for (const { id, value } of readFields(bytes, budget)) {
    if (isPauseDue(budget)) await setImmediate();
    const name = names.get(id);
    if (name) found[name] = value;
  }
  return found;
}

function namesOf<Name extends string>(ids: Record<Name, number>): Names<Name> {
  return new Map(Object.entries(ids).map(([name, id]) => [id as number, name as Name]));
}

function isSecret({ length }: Uint8Array): boolean {
  return length > 0 && length <= MAX_SECRET_BYTES;
}

function jidIn(value: unknown): string | undefined {
  const text = textOf(value);
  const [pn, lid] = [PN.exec(text)?.[1], LID.exec(text)?.[1]];
  return pn ? `${pn}@s.whatsapp.net` : lid && `${lid}@lid`;
}

function textOf(value: unknown): string {
  return value instanceof Uint8Array && value.length <= MAX_JID_BYTES ? Buffer.from(value).toString('latin1') : '';
}
