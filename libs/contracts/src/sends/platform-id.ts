import { createCipheriv } from 'node:crypto';
import { LIMITS } from '../limits.js';
import { MAX_PARTS } from './send-layout.js';

/** What a platform id stands for: which send (a random 52-bit tag, unique per device), which recipient, which part. */
export interface PlatformIdParts {
  /** 13 hex digits. */
  tag: string;
  /** 0 to 65,535. */
  recipient: number;
  /** 0 to 15. */
  part: number;
}

/** Whether it looks like one of ours; so do those of other web clients. */
export const mayBeOurs = (platformId: string): boolean => PLATFORM_ID.test(platformId);

/** Whether an id stands for a message that a send can have: of ids that are made up, 13 in 14 do not. */
export function isPlausible({ recipient, part }: PlatformIdParts): boolean {
  return recipient < LIMITS.maxRecipients && part < MAX_PARTS;
}

export interface PlatformIds {
  make(parts: PlatformIdParts): string;
  /** The same ids of all parts of these recipients, in their order: for many together it takes a tenth of the time. What is made so is not remembered. */
  makeAll(send: { tag: string; parts: number }, recipients: readonly number[]): string[];
  /** `undefined` for an id that cannot be ours; an id of another client decodes to a tag that no send has. */
  parse(platformId: string): PlatformIdParts | undefined;
}

const PREFIX = '3EB0';
const PLATFORM_ID = /^3EB0([0-9A-F]{18})$/;
const ROUNDS = 8;
const HALF = 2 ** 36;
const HALF_DIGITS = 9;
const BLOCK = 16;
/** Receipts come soon after a message, and reading an id takes as long as making it. */
const REMEMBERED = 256;

/**
 * Message ids that the network sees: `3EB0` + 72 bits, a keyed permutation of (tag, recipient, part).
 * The same input always gives the same id, so a retry repeats the id and the phone drops the double; the owner of the
 * key reads it back without an index; to anyone else ids look random, as those of the network's own clients do.
 *
 * The permutation is a Feistel network of 36-bit halves with AES as its round function.
 * @param key 16 bytes, one per device, never changed while sends of the device can still be answered.
 */
export function platformIds(key: Uint8Array): PlatformIds {
  const aes = createCipheriv('aes-128-ecb', key, null).setAutoPadding(false);
  const block = Buffer.alloc(BLOCK);
  const made = new Map<string, PlatformIdParts>();

  /** The round function, of each half: one call of AES, as the call costs more than the blocks. */
  function mixAll(round: number, halves: Float64Array, blocks: Buffer): Buffer {
    for (let i = 0, at = 0; i < halves.length; i++, at += BLOCK) {
      blocks[at] = round;
      blocks.writeUIntBE(halves[i]!, at + 1, 5);
    }
    return aes.update(blocks);
  }

  /** The same of one, without making anything for it. */
  function mix(round: number, half: number): number {
    block[0] = round;
    block.writeUIntBE(half, 1, 5);
    return aes.update(block).readUIntBE(0, 5) % HALF;
  }

  function makeAll({ tag, parts }: { tag: string; parts: number }, recipients: readonly number[]): string[] {
    const count = recipients.length * parts;
    const [ofTag, first] = halvesOf({ tag, recipient: 0, part: 0 });
    let [left, right] = [new Float64Array(count).fill(ofTag), new Float64Array(count)];
    for (let i = 0; i < count; i++) right[i] = first + recipients[Math.floor(i / parts)]! * 2 ** 4 + (i % parts);
    const blocks = Buffer.alloc(count * BLOCK);
    for (let round = 0; round < ROUNDS; round++) {
      const mixed = mixAll(round, right, blocks);
      for (let i = 0; i < left.length; i++) left[i] = xor(left[i]!, mixed.readUIntBE(i * BLOCK, 5) % HALF);
      [left, right] = [right, left];
    }
    return idsOf(left, right);
  }

  return {
    make(parts) {
      let [left, right] = halvesOf(parts);
      for (let round = 0; round < ROUNDS; round++) [left, right] = [right, xor(left, mix(round, right))];
      const id = idOf(left, right);
      const [oldest] = made.size < REMEMBERED ? [] : made.keys();
      if (oldest !== undefined) made.delete(oldest);
      made.set(id, { tag: parts.tag, recipient: parts.recipient, part: parts.part });
      return id;
    },
    makeAll,
    parse(platformId) {
      const known = made.get(platformId);
      if (known) return { tag: known.tag, recipient: known.recipient, part: known.part };
      const match = PLATFORM_ID.exec(platformId);
      if (!match) return undefined;
      let [left, right] = split(BigInt(`0x${match[1]}`));
      for (let round = ROUNDS - 1; round >= 0; round--) [left, right] = [xor(right, mix(round, left)), left];
      const plain = join(left, right);
      return {
        tag: (plain >> 20n).toString(16).padStart(13, '0'),
        recipient: Number((plain >> 4n) & 0xffffn),
        part: Number(plain & 0xfn),
      };
    },
  };
}

function split(value: bigint): [number, number] {
  return [Number(value >> 36n), Number(value & 0xfffffffffn)];
}

function join(left: number, right: number): bigint {
  return (BigInt(left) << 36n) | BigInt(right);
}

function halvesOf({ tag, recipient, part }: PlatformIdParts): [number, number] {
  const low = Number.parseInt(tag.slice(HALF_DIGITS), 16) * 2 ** 20 + recipient * 2 ** 4 + part;
  return [Number.parseInt(tag.slice(0, HALF_DIGITS), 16), low];
}

function idOf(left: number, right: number): string {
  return PREFIX + hexOf(left) + hexOf(right);
}

/** Of all at once: numbers of more than 31 bits become text slowly. */
function idsOf(left: Float64Array, right: Float64Array): string[] {
  const bytes = Buffer.alloc(left.length * HALF_DIGITS);
  for (let i = 0, at = 0; i < left.length; i++, at += HALF_DIGITS) {
    bytes.writeUInt32BE(Math.floor(left[i]! / 2 ** 4), at);
    bytes[at + 4] = (left[i]! % 2 ** 4) * 2 ** 4 + Math.floor(right[i]! / 2 ** 32);
    bytes.writeUInt32BE(right[i]! % 2 ** 32, at + 5);
  }
  const digits = bytes.toString('hex').toUpperCase();
  return Array.from(left, (_, i) => PREFIX + digits.slice(2 * HALF_DIGITS * i, 2 * HALF_DIGITS * (i + 1)));
}

function hexOf(half: number): string {
  return half.toString(16).toUpperCase().padStart(HALF_DIGITS, '0');
}

/** XOR of 36-bit numbers: JavaScript's own works on 32 bits. */
function xor(a: number, b: number): number {
  const high = Math.floor(a / 2 ** 18) ^ Math.floor(b / 2 ** 18);
  const low = (a % 2 ** 18) ^ (b % 2 ** 18);
  return high * 2 ** 18 + low;
}
