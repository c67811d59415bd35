import { RECIPIENT_STATUSES, type RecipientStatus } from './statuses.js';

/**
 * The binary layout of a send. A list of 10,000 costs 80 kB of recipients and 160 kB of results; one JSON job per
 * recipient would cost 11 MB. Lua is given the same layout when its files are loaded
 * (libs/store/src/core/scripts/lua-constants.ts). Another layout has another `RECORD_VERSION`.
 *
 * A part is one message of a send to one recipient (media, then its text); there are at most `MAX_PARTS`.
 *
 * recipient: 8 bytes, the number as an unsigned big-endian integer; zero where it was taken out.
 */
export const RECORD_VERSION = 1;
export const MAX_PARTS = 8;
export const RECIPIENT_BYTES = 8;

/** The fields of a result in their order, with their bytes; unsigned, big-endian. Those of parts have a bit for each. */
export const RESULT_LAYOUT = {
  /** A code: see statuses.ts. */
  status: 1,
  attempts: 1,
  /** Parts: claimed, and nothing was heard since. */
  inFlight: 1,
  /** Parts: the network has accepted them. */
  acked: 1,
  /** See recipient-errors.ts. */
  err: 2,
  /** Of the last change, in ms. */
  at: 6,
  /** Parts. */
  delivered: 1,
  /** Parts. */
  read: 1,
  /** Parts: an earlier attempt was never answered, so the phone may have it whatever came later. */
  doubt: 1,
  /** Zero. */
  unused: 1,
} as const;
export type ResultField = keyof typeof RESULT_LAYOUT;
export const RESULT_BYTES = Object.values(RESULT_LAYOUT).reduce((sum, bytes) => sum + bytes, 0);
const OFFSETS = resultOffsets(RESULT_LAYOUT);

/** Where each field of a result begins. */
export function resultOffsets<F extends string>(layout: Readonly<Record<F, number>>): Record<F, number> {
  let next = 0;
  const offsets = Object.entries<number>(layout).map(([field, bytes]) => {
    next += bytes;
    return [field, next - bytes];
  });
  return Object.fromEntries(offsets);
}

export interface RecipientResult {
  status: RecipientStatus;
  attempts: number;
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

/** Results of a send that no owner has worked on: all zero, which reads as `queued`. */
export function emptyResults(recipients: number, nowMs: number): Buffer {
  const results = Buffer.alloc(recipients * RESULT_BYTES);
  for (let at = 0; at < results.length; at += RESULT_BYTES) {
    results.writeUIntBE(nowMs, at + OFFSETS.at, RESULT_LAYOUT.at);
  }
  return results;
}

export function readResult(results: Buffer, index: number): RecipientResult {
  const read = (field: ResultField) => results.readUIntBE(index * RESULT_BYTES + OFFSETS[field], RESULT_LAYOUT[field]);
  const status = RECIPIENT_STATUSES[read('status')];
  if (!status) throw new Error(`unknown recipient status code ${read('status')}`);
  return {
    status,
    attempts: read('attempts'),
    partsInFlight: read('inFlight'),
    partsAcked: read('acked'),
    errorCode: read('err'),
    atMs: read('at'),
    partsInDoubt: read('doubt'),
  };
}
