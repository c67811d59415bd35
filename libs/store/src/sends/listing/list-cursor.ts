import { fromBase32, toBase32 } from '@gateway/contracts/base32';
import type { ListPlace } from './listed-sends.js';

/** A place as lists hand it out: 6 bytes of ms, 4 of the sequence, 1 of the shard. */
export function toCursor({ ms, sequence, shard }: ListPlace): string {
  const bytes = Buffer.alloc(11);
  bytes.writeUIntBE(ms, 0, 6);
  bytes.writeUInt32BE(sequence, 6);
  bytes.writeUInt8(shard, 10);
  return toBase32(bytes);
}

export const CURSOR = /^[0-9a-hjkmnp-tv-z]{18}$/;

/** @param cursor one that `CURSOR` knows. */
export function fromCursor(cursor: string): ListPlace {
  const bytes = fromBase32(cursor);
  return { ms: bytes.readUIntBE(0, 6), sequence: bytes.readUInt32BE(6), shard: bytes.readUInt8(10) };
}
