import type { Seed } from '../crypto/seed.js';

/**
 * Every phone number has a hidden identifier (LID), and the mapping works both ways without storing a single pair:
 * a four-round Feistel permutation of the 15-digit numbers. 50 bits hold them; results above the range are permuted
 * again until they fall into it (1.13 rounds on average), which keeps it a permutation.
 */
export class LidMapping {
  readonly #keys: readonly number[];

  constructor(seed: Seed) {
    const bytes = seed.derive('lid-mapping');
    this.#keys = [0, 4, 8, 12].map((offset) => bytes.readUInt32BE(offset));
  }

  lidOf(number: string): string {
    return this.#walk(number, this.#keys);
  }

  numberOf(lid: string): string {
    return this.#walk(lid, [...this.#keys].reverse(), true);
  }

  #walk(digits: string, keys: readonly number[], inverse = false): string {
    let value = Number(digits);
    do value = permute(value, keys, inverse);
    while (value >= RANGE);
    return String(value);
  }
}

const RANGE = 1e15;
const HALF = 2 ** 25;

function permute(value: number, keys: readonly number[], inverse: boolean): number {
  let left = Math.floor(value / HALF);
  let right = value % HALF;
  // The inverse is the same network with the halves swapped on both ends and the keys in reverse.
  if (inverse) [left, right] = [right, left];
  for (const key of keys) [left, right] = [right, (left ^ scramble(right, key)) & (HALF - 1)];
  if (inverse) [left, right] = [right, left];
  return left * HALF + right;
}

function scramble(half: number, key: number): number {
  let mixed = Math.imul(half ^ key, 0x9e3779b1);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x85ebca77);
  mixed ^= mixed >>> 13;
  return mixed >>> 0;
}
