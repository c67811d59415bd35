import type { BinaryNode } from '../wire/nodes.js';
import type { Trace } from './gate.js';

/** Bytes longer than this are shown by their length only. */
const LONGEST_BYTES = 32;

/** Writes every stanza to stderr: time, direction, client, and the stanza as readable text. */
export const writeTrace: Trace = (direction, client, stanza) => {
  const time = new Date().toISOString().slice(11, 23);
  process.stderr.write(`${time} ${direction === 'in' ? '->' : '<-'} ${client} ${describe(stanza)}\n`);
};

function describe({ tag, attrs, content }: BinaryNode): string {
  const given = Object.entries(attrs).filter(([, value]) => value !== undefined);
  const head = [tag, ...given.map(([name, value]) => `${name}="${value}"`)].join(' ');
  if (content === undefined) return `<${head}/>`;
  return `<${head}>${describeContent(content)}</${tag}>`;
}

function describeContent(content: NonNullable<BinaryNode['content']>): string {
  if (Array.isArray(content)) return content.map(describe).join('');
  const bytes = Buffer.from(content as Uint8Array);
  const text = bytes.toString('utf8');
  if (/^[\x20-\x7e]*$/.test(text)) return text;
  return bytes.length > LONGEST_BYTES ? `(${bytes.length} bytes)` : bytes.toString('hex');
}
