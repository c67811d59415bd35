import { type BaileysSocket, type BinaryNode, getAllBinaryNodeChildren } from './baileys.js';
import { redact } from './log-adapter.js';

const MAX_CHARACTERS = 100;
/** Of a `failure`; others may name an address or a person. */
const SAYING_ATTRIBUTES = ['type', 'reason', 'message'];

/**
 * What the server gave as its reason for the end of a connection, such as `conflict replaced` or `ack`: the names of its
 * stanza and its text, without anything that identifies a person. `undefined` while it has said nothing.
 */
export function watchServerWords(sock: BaileysSocket): () => string | undefined {
  let words: string | undefined;
  const note = (node: BinaryNode) => {
    words = readWords(node);
  };
  // Before the library, which ends the socket when it sees them.
  sock.ws.prependListener('CB:stream:error', note);
  sock.ws.prependListener('CB:failure', note);
  return () => words;
}

function readWords(node: BinaryNode): string | undefined {
  const parts = [node, ...getAllBinaryNodeChildren(node).slice(0, 5)].flatMap((part, index) => [
    index > 0 ? part.tag : undefined,
    ...SAYING_ATTRIBUTES.map((name) => part.attrs[name]),
    textOf(part),
  ]);
  const text = parts
    .filter(Boolean)
    .join(' ')
    .replace(/[^\x20-\x7e]/g, '');
  return redact(text).slice(0, MAX_CHARACTERS).trim() || undefined;
}

function textOf({ content }: BinaryNode): string | undefined {
  if (typeof content === 'string') return content;
  return content instanceof Uint8Array ? Buffer.from(content.subarray(0, MAX_CHARACTERS)).toString() : undefined;
}
