import { readFields } from './read-fields.js';

/** What we want to know of a history: nothing of what people wrote, nor their names. */
export interface HistoryFacts {
  /** What tokens for strangers are made of. */
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

/** Of HistorySync. The library's definitions end before the salt. */
const HISTORY = { conversations: 2, globalSettings: 8, mappings: 15, salt: 19 };
const CONVERSATION = { id: 1, token: 21, timestamp: 22, senderTimestamp: 28, pnJid: 39, lidJid: 42 };
const MAPPING = { pnJid: 1, lidJid: 2 };
const LID_MIGRATION = 20;

const MAX_PEOPLE = 20_000;
const MAX_SECRET_BYTES = 256;
const MAX_JID_BYTES = 64;
const PN = /^([1-9]\d{4,19})@(?:s\.whatsapp\.net|c\.us)$/;
const LID = /^([1-9]\d{4,19})@lid$/;

/** Reads a history that was inflated; what it returns shares no memory with it. Throws when it is malformed. */
export function readHistory(bytes: Uint8Array): HistoryFacts {
  const facts: HistoryFacts = { tokens: [], lids: new Map() };
  for (const { id, value } of readFields(bytes)) {
    if (typeof value === 'number') continue;
    if (id === HISTORY.conversations) readConversation(value, facts);
    else if (id === HISTORY.mappings) readMapping(fieldsOf(value, MAPPING), facts);
    else if (id === HISTORY.salt && isSecret(value)) facts.salt = Buffer.from(value);
    else if (id === HISTORY.globalSettings) readSettings(value, facts);
  }
  return facts;
}

function readConversation(bytes: Uint8Array, facts: HistoryFacts): void {
  const fields = fieldsOf(bytes, CONVERSATION);
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

function readSettings(bytes: Uint8Array, facts: HistoryFacts): void {
  const { at } = fieldsOf(bytes, { at: LID_MIGRATION });
  if (typeof at === 'number' && at > 0) facts.lidMigrationTimestamp = at;
}

/** The last of each of the fields with these numbers. */
function fieldsOf<Name extends string>(
  bytes: Uint8Array,
  wanted: Record<Name, number>,
): Partial<Record<Name, number | Uint8Array>> {
  const names = new Map(Object.entries(wanted).map(([name, id]) => [id, name as Name]));
  const found: Partial<Record<Name, number | Uint8Array>> = {};
  for (const { id, value } of readFields(bytes)) {
    const name = names.get(id);
    if (name) found[name] = value;
  }
  return found;
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
