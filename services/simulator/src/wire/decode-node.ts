import { inflateSync } from 'node:zlib';
import * as dictionary from '@whiskeysockets/baileys/lib/WABinary/constants.js';
import type { BinaryNode, NodeContent } from './nodes.js';

const { TAGS, SINGLE_BYTE_TOKENS, DOUBLE_BYTE_TOKENS } = dictionary;

const COMPRESSED = 2;
const NIBBLES = '0123456789-.';
const HEX = '0123456789ABCDEF';
const SERVERS: Record<number, string> = { 1: 'lid', 128: 'hosted', 129: 'hosted.lid' };

/**
 * Decodes a stanza to what the library decodes it to (a test holds this), in one turn, as stanzas must be handled in the
 * order they came. The library makes twenty functions for every node of a stanza; they were a third of our garbage.
 * Throws on anything malformed.
 */
export function decodeNode(stanza: Buffer): BinaryNode {
  const plain = (stanza[0]! & COMPRESSED) === 0;
  return new NodeReader(plain ? stanza : inflateSync(stanza.subarray(1)), plain ? 1 : 0).readNode();
}

class NodeReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  readNode(): BinaryNode {
    const size = this.#readListSize(this.#readByte());
    const tag = this.#readString(this.#readByte());
    if (size === 0 || tag === '') throw new Error('invalid node');
    const attrs: Record<string, string> = {};
    for (let left = (size - 1) >> 1; left > 0; left -= 1) {
      const name = this.#readString(this.#readByte());
      attrs[name] = this.#readString(this.#readByte());
    }
    return size % 2 === 0 ? { tag, attrs, content: this.#readContent() } : { tag, attrs };
  }

  #readContent(): NodeContent {
    const kind = this.#readByte();
    switch (kind) {
      case TAGS.LIST_EMPTY:
      case TAGS.LIST_8:
      case TAGS.LIST_16: {
        const children: BinaryNode[] = [];
        for (let left = this.#readListSize(kind); left > 0; left -= 1) children.push(this.readNode());
        return children;
      }
      case TAGS.BINARY_8:
      case TAGS.BINARY_20:
      case TAGS.BINARY_32:
        return this.#readBytes(this.#readLength(kind));
      default:
        return this.#readString(kind);
    }
  }

  #readString(kind: number): string {
    if (kind >= 1 && kind < SINGLE_BYTE_TOKENS.length) return SINGLE_BYTE_TOKENS[kind] ?? '';
    switch (kind) {
      case TAGS.LIST_EMPTY:
        return '';
      case TAGS.DICTIONARY_0:
      case TAGS.DICTIONARY_1:
      case TAGS.DICTIONARY_2:
      case TAGS.DICTIONARY_3:
        return known(DOUBLE_BYTE_TOKENS[kind - TAGS.DICTIONARY_0]?.[this.#readByte()]);
      case TAGS.BINARY_8:
      case TAGS.BINARY_20:
      case TAGS.BINARY_32:
        return this.#readText(this.#readLength(kind));
      case TAGS.NIBBLE_8:
        return this.#readPacked(NIBBLES);
      case TAGS.HEX_8:
        return this.#readPacked(HEX);
      default:
        return this.#readJid(kind);
    }
  }

  #readJid(kind: number): string {
    switch (kind) {
      case TAGS.JID_PAIR: {
        const user = this.#readString(this.#readByte());
        return `${user}@${known(this.#readString(this.#readByte()))}`;
      }
      case TAGS.AD_JID: {
        const server = SERVERS[this.#readByte()] ?? 's.whatsapp.net';
        const device = this.#readByte();
        const user = this.#readString(this.#readByte());
        return device === 0 ? `${user}@${server}` : `${user}:${device}@${server}`;
      }
      case TAGS.FB_JID: {
        const user = this.#readString(this.#readByte());
        const device = this.#readInt(2);
        return `${user}:${device}@${this.#readString(this.#readByte())}`;
      }
      case TAGS.INTEROP_JID: {
        const user = this.#readString(this.#readByte());
        const device = this.#readInt(2);
        const integrator = this.#readInt(2);
        return `${integrator}-${user}:${device}@${this.#readString(this.#readByte())}`;
      }
      default:
        throw new Error(`invalid string of kind ${kind}`);
    }
  }

  #readPacked(alphabet: string): string {
    const start = this.#readByte();
    let text = '';
    for (let left = start & 127; left > 0; left -= 1) {
      const pair = this.#readByte();
      text += known(alphabet[pair >> 4]);
      // The last half of an odd number of characters is filled up with 15.
      if (left > 1 || start < 128) text += known(alphabet[pair & 15]);
    }
    return text;
  }

  #readListSize(kind: number): number {
    if (kind === TAGS.LIST_EMPTY) return 0;
    if (kind === TAGS.LIST_8) return this.#readByte();
    if (kind === TAGS.LIST_16) return this.#readInt(2);
    throw new Error(`invalid list of kind ${kind}`);
  }

  #readLength(kind: number): number {
    if (kind === TAGS.BINARY_8) return this.#readByte();
    return kind === TAGS.BINARY_20 ? this.#readInt(3) & 0xfffff : this.#readInt(4);
  }

  #readText(length: number): string {
    const start = this.#take(length);
    return this.#bytes.toString('utf8', start, this.#at);
  }

  #readBytes(length: number): Buffer {
    const start = this.#take(length);
    return this.#bytes.subarray(start, this.#at);
  }

  #readInt(length: number): number {
    return this.#bytes.readUIntBE(this.#take(length), length);
  }

  #readByte(): number {
    return this.#bytes[this.#take(1)]!;
  }

  /** Moves on, and answers where it was. */
  #take(length: number): number {
    const start = this.#at;
    if (start + length > this.#bytes.length) throw new Error('end of stanza');
    this.#at = start + length;
    return start;
  }
}

function known(text: string | undefined): string {
  if (!text) throw new Error('invalid token');
  return text;
}
