import * as dictionary from '@whiskeysockets/baileys/lib/WABinary/constants.js';
import type { BinaryNode, NodeContent } from './nodes.js';

const { TAGS, TOKEN_MAP } = dictionary;

/** A token of the dictionary, by its text. A map of our own: the library's is an object with 1,200 odd keys. */
const TOKENS = new Map(Object.entries(TOKEN_MAP));

/** What every name and value of the protocol is, most of all: short. */
const FIRST_BYTES = 4_096;

const NIBBLES = /^[\d.-]+$/;
const HEX = /^[\dA-F]+$/;
const DOMAINS: Record<string, number> = { lid: 1, hosted: 128, 'hosted.lid': 129 };

let bytes = Buffer.allocUnsafe(FIRST_BYTES);
let end = 0;

/**
 * Encodes a stanza, byte for byte as the library does (a test holds this), in a tenth of its time and without its
 * garbage: it collects the bytes of every stanza in an array of numbers.
 */
export function encodeNode(node: BinaryNode): Buffer {
  return Buffer.from(encodeForNow(node));
}

/** The same, good only until the next stanza is encoded. */
export function encodeForNow(node: BinaryNode): Buffer {
  end = 0;
  writeByte(0);
  writeNode(node);
  return bytes.subarray(0, end);
}

function writeNode({ tag, attrs, content }: BinaryNode): void {
  if (!tag) throw new Error('node without a tag');
  let count = 0;
  for (const name in attrs) if (attrs[name] !== undefined && attrs[name] !== null) count += 1;
  writeListStart(2 * count + 1 + (content === undefined ? 0 : 1));
  writeString(tag);
  for (const name in attrs) {
    const value = attrs[name];
    if (value === undefined || value === null) continue;
    writeString(name);
    writeString(value);
  }
  if (content !== undefined) writeContent(content);
}

function writeContent(content: NodeContent): void {
  if (typeof content === 'string') return writeString(content);
  if (!Array.isArray(content)) return writeBytes(content);
  writeListStart(content.length);
  for (const child of content) writeNode(child);
}

function writeString(text: string): void {
  if (text === '') return writeLength(0);
  const token = TOKENS.get(text);
  if (token) {
    if (token.dict !== undefined) writeByte(TAGS.DICTIONARY_0 + token.dict);
    return writeByte(token.index);
  }
  if (text.length <= TAGS.PACKED_MAX) {
    if (NIBBLES.test(text)) return writePacked(text, TAGS.NIBBLE_8);
    if (HEX.test(text)) return writePacked(text, TAGS.HEX_8);
  }
  const at = text.indexOf('@');
  if (at >= 0) writeJid(text.slice(0, at), text.slice(at + 1));
  else writeText(text);
}

function writeJid(userAndDevice: string, server: string): void {
  const [userAndAgent = '', device] = userAndDevice.split(':');
  const [user = '', agent] = userAndAgent.split('_');
  if (device) {
    writeByte(TAGS.AD_JID);
    writeByte(DOMAINS[server] ?? Number(agent ?? 0));
    writeByte(Number(device));
    return writeString(user);
  }
  writeByte(TAGS.JID_PAIR);
  if (user) writeString(user);
  else writeByte(TAGS.LIST_EMPTY);
  writeString(server);
}

/** Two characters a byte: digits, dash and dot, or digits and capitals from A to F. */
function writePacked(text: string, kind: number): void {
  const odd = text.length % 2;
  writeByte(kind);
  writeByte(((text.length + odd) / 2) | (odd << 7));
  for (let index = 0; index < text.length; index += 2) {
    const low = index + 1 < text.length ? packedOf(text.charCodeAt(index + 1)) : 15;
    writeByte((packedOf(text.charCodeAt(index)) << 4) | low);
  }
}

function packedOf(code: number): number {
  if (code >= 65) return code - 55;
  if (code >= 48) return code - 48;
  return code === 45 ? 10 : 11;
}

function writeText(text: string): void {
  const length = Buffer.byteLength(text);
  writeLength(length);
  reserve(length);
  end += bytes.write(text, end);
}

function writeBytes(content: Uint8Array): void {
  writeLength(content.length);
  reserve(content.length);
  bytes.set(content, end);
  end += content.length;
}

function writeListStart(length: number): void {
  if (length === 0) return writeByte(TAGS.LIST_EMPTY);
  if (length < 256) {
    writeByte(TAGS.LIST_8);
    return writeByte(length);
  }
  writeByte(TAGS.LIST_16);
  writeInt(length, 2);
}

function writeLength(length: number): void {
  if (length < 256) {
    writeByte(TAGS.BINARY_8);
    return writeByte(length);
  }
  const large = length >= 1 << 20;
  writeByte(large ? TAGS.BINARY_32 : TAGS.BINARY_20);
  writeInt(length, large ? 4 : 3);
}

function writeInt(value: number, length: number): void {
  reserve(length);
  end = bytes.writeUIntBE(value, end, length);
}

function writeByte(value: number): void {
  if (end === bytes.length) reserve(1);
  bytes[end] = value;
  end += 1;
}

function reserve(length: number): void {
  if (end + length <= bytes.length) return;
  const larger = Buffer.allocUnsafe(2 * (end + length));
  larger.set(bytes.subarray(0, end));
  bytes = larger;
}
