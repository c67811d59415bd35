import { createHmac, randomBytes } from 'node:crypto';
import { type BinaryNode, binaryNodeToString } from '../socket/baileys.js';

/** Attributes whose values say what kind of stanza it is, and nothing of people. */
const PLAIN = new Set([
  ...['type', 'class', 'xmlns', 'error', 'code', 'reason', 'text', 'count', 't', 'category', 'mediatype', 'mode'],
  ...['addressing_mode', 'v', 'version', 'offline', 'retry', 'refresh_lid', 'state', 'stage', 'op_name', 'query_id'],
  ...['timeout', 'action', 'context', 'index', 'last', 'sid', 'passive', 'hash', 'sync_type', 'config_code'],
]);
const ATTRIBUTE = /([A-Za-z_][\w:-]{0,40})='([^'\n]{0,200})'/g;
const TAG = /^<([a-z][a-z_-]{0,40})(?=[ >/])/;
const JID = /^([^'@\s:]{1,40})(:\d{1,3})?@([a-z.]{1,20})$/;
const HARMLESS = /^[A-Za-z0-9_.:-]{1,40}$/;
/** What could be a number of a person. Times are ten digits, and have names of their own. */
const LONG_NUMBER = /\d{7,}/;
const TIMES = new Set(['t', 'query_id']);
const MAX_LINES = 60;
const MAX_CHARACTERS = 20_000;

/** One short name per person that does not lead back to them: its key is forgotten with the trace. */
export type Pseudonym = (user: string) => string;

export function makePseudonyms(): Pseudonym {
  const key = randomBytes(32);
  return (user) => createHmac('sha256', key).update(user).digest('hex').slice(0, 6);
}

/** The library's textual form; nothing in a value of another person can look like a tag, an attribute or a line. */
export function spellStanza(node: BinaryNode): string {
  return String(binaryNodeToString(plainly(node)));
}

function plainly(node: BinaryNode): BinaryNode {
  const attrs = Object.entries(node.attrs ?? {}).map(([name, value]) => [name, asPlainText(value)]);
  const { tag, content } = node;
  return { tag, attrs: Object.fromEntries(attrs), ...(content !== undefined && { content: plainContent(content) }) };
}

type Content = NonNullable<BinaryNode['content']>;

function plainContent(content: Content): Content {
  if (Array.isArray(content)) return content.map(plainly);
  return typeof content === 'string' ? asPlainText(content) : content;
}

function asPlainText<Value>(value: Value): Value | string {
  return typeof value === 'string' ? value.replaceAll(/['"<>\r\n]/g, '_') : value;
}

/**
 * A stanza in the library's textual form, without what people wrote, keys, tokens and whole numbers: tags, known
 * attributes with harmless values, and pseudonyms for people and ids. Whatever is not known to be harmless is a `*`:
 * the text is not parsed strictly, but only what has such a form gets through.
 */
export function redactStanza(text: string, pseudonym: Pseudonym): string {
  const lines = text.slice(0, MAX_CHARACTERS).split('\n');
  const shown = lines.slice(0, MAX_LINES).flatMap((line) => redactLine(line, pseudonym));
  return lines.length > MAX_LINES ? [...shown, '...'].join('\n') : shown.join('\n');
}

function redactLine(line: string, pseudonym: Pseudonym): string[] {
  const indent = ' '.repeat(Math.min(line.length - line.trimStart().length, 20));
  const trimmed = line.trim();
  if (trimmed === '' || trimmed.startsWith('</')) return [];
  const tag = TAG.exec(trimmed)?.[1];
  if (!tag) return [`${indent}(content)`];
  const attributes = [...trimmed.matchAll(ATTRIBUTE)].map(([, name, value]) => redact(name!, value!, pseudonym));
  return [`${indent}<${[tag, ...attributes].join(' ')}>`];
}

function redact(name: string, value: string, pseudonym: Pseudonym): string {
  const jid = JID.exec(value);
  if (jid) return `${name}=${pseudonym(jid[1]!)}${jid[2] ?? ''}@${jid[3]}`;
  if (name === 'id') return `id=#${pseudonym(value)}`;
  const isHarmless = HARMLESS.test(value) && (TIMES.has(name) || !LONG_NUMBER.test(value));
  return PLAIN.has(name) && isHarmless ? `${name}=${value}` : `${name}=*`;
}
