import { RECIPIENT_STATUSES, type RecipientStatus } from './statuses.js';

/**
 * The binary layout of a send. A list of 10,000 costs 80 kB of recipients and 160 kB of results; one JSON job per
 * recipient would cost 11 MB. Lua reads the same layout: change both, and `RECORD_VERSION`.
 *
 * A part is one message of a send to one recipient (media, then its text); there are at most `MAX_PARTS`.
 *
 * recipient: 8 bytes, the number as an unsigned big-endian integer; zero where it was taken out.
 * result, 16 bytes, big-endian:
 *   0      status code
 *   1      tries so far
 *   2      parts in flight, a bit each: claimed, and nothing was heard since
 *   3      parts acknowledged, a bit each
 *   4-5    error code
 *   6-11   time of the last change, ms
 *   12     parts delivered, a bit each
 *   13     parts read, a bit each
 *   14     parts in doubt, a bit each: an earlier try was never answered, so the phone may have it whatever came later
 *   15     zero
 */
export const RECORD_VERSION = 1;
export const MAX_PARTS = 8;
export const RECIPIENT_BYTES = 8;
export const RESULT_BYTES = 16;

export interface RecipientResult {
  status: RecipientStatus;
  tries: number;
  partsInFlight: number;
  partsAcked: number;
  partsInDoubt: number;
  errorCode: number;
  atMs: number;
}

/** @param numbers digits, 7 to 15 of them: they fit into 53 bits. */
export function packRecipients(numbers: readonly string[]): Buffer {
  const packed = Buffer.alloc(numbers.length * RECIPIENT_BYTES);
  numbers.forEach((number, index) => {
    packed.writeBigUInt64BE(BigInt(number), index * RECIPIENT_BYTES);
  });
  return packed;
}

/** In the place of a number that was taken out: zero in the packed form. */
const FORGOTTEN = 'forgotten';

export function unpackRecipients(packed: Buffer): string[] {
  const numbers: string[] = [];
  for (let at = 0; at + RECIPIENT_BYTES <= packed.length; at += RECIPIENT_BYTES) {
    const number = packed.readBigUInt64BE(at);
    numbers.push(number === 0n ? FORGOTTEN : number.toString());
  }
  return numbers;
}

/** Results of a send nobody has worked on: all zero, which reads as `queued`. */
export function emptyResults(recipients: number, nowMs: number): Buffer {
  const results = Buffer.alloc(recipients * RESULT_BYTES);
  for (let at = 0; at < results.length; at += RESULT_BYTES) results.writeUIntBE(nowMs, at + 6, 6);
  return results;
}

export function readResult(results: Buffer, index: number): RecipientResult {
  const at = index * RESULT_BYTES;
  const status = RECIPIENT_STATUSES[results.readUInt8(at)];
  if (!status) throw new Error(`unknown recipient status code ${results.readUInt8(at)}`);
  return {
    status,
    tries: results.readUInt8(at + 1),
    partsInFlight: results.readUInt8(at + 2),
    partsAcked: results.readUInt8(at + 3),
    errorCode: results.readUInt16BE(at + 4),
    atMs: results.readUIntBE(at + 6, 6),
    partsInDoubt: results.readUInt8(at + 14),
  };
}
