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

/** Whether an id stands for a message that a send can have: of ids that are made up, 13 in 14 do not. */
export function isPlausible({ recipient, part }: PlatformIdParts): boolean {
  return recipient < LIMITS.maxRecipients && part < MAX_PARTS;
}

export interface PlatformIds {
  make(parts: PlatformIdParts): string;
  /** `undefined` for an id that cannot be ours; an id of another client decodes to a tag that no send has. */
  parse(platformId: string): PlatformIdParts | undefined;
}

const PREFIX = '3EB0';
const PLATFORM_ID = /^3EB0([0-9A-F]{18})$/;
const ROUNDS = 8;
const HALF = 2 ** 36;
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
  const block = Buffer.alloc(16);
  const made = new Map<string, PlatformIdParts>();

  function mix(round: number, half: number): number {
    block.fill(0);
    block.writeUInt8(round, 0);
    block.writeUIntBE(half, 1, 5);
    const mixed = aes.update(block);
    return mixed.readUIntBE(0, 5) % HALF;
  }

  return {
    make({ tag, recipient, part }) {
      const plain = (BigInt(`0x${tag}`) << 20n) | (BigInt(recipient) << 4n) | BigInt(part);
      let [left, right] = split(plain);
      for (let round = 0; round < ROUNDS; round++) [left, right] = [right, xor(left, mix(round, right))];
      const id = PREFIX + join(left, right).toString(16).toUpperCase().padStart(18, '0');
      const [oldest] = made.size < REMEMBERED ? [] : made.keys();
      if (oldest !== undefined) made.delete(oldest);
      made.set(id, { tag, recipient, part });
      return id;
    },
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

/** XOR of 36-bit numbers: JavaScript's own works on 32 bits. */
function xor(a: number, b: number): number {
  const high = Math.floor(a / 2 ** 18) ^ Math.floor(b / 2 ** 18);
  const low = (a % 2 ** 18) ^ (b % 2 ** 18);
  return high * 2 ** 18 + low;
}
