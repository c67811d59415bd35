import { inflateSync } from 'node:zlib';
import { type BinaryNode, decodeDecompressedBinaryNode, encodeBinaryNode } from '@whiskeysockets/baileys';
import * as dictionary from '@whiskeysockets/baileys/lib/WABinary/constants.js';

const COMPRESSED = 2;

/** Decodes in one turn (the library's own decoder is async): stanzas must be handled in the order they came. */
export function decodeNode(bytes: Buffer): BinaryNode {
  const body = (bytes[0]! & COMPRESSED) === 0 ? bytes.subarray(1) : inflateSync(bytes.subarray(1));
  return decodeDecompressedBinaryNode(body, dictionary);
}

export function encodeNode(node: BinaryNode): Buffer {
  return encodeBinaryNode(node);
}
