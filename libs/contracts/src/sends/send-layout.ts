import type { StatusCounts } from './statuses.js';

/**
 * The binary layout of a send, one string from its acceptance on: a head of fixed-width fields, a place for each recipient (the
 * number and the result), then a few texts. Where the place of a recipient begins follows from its index alone, so one result is
 * read and written without the others. A list of 10,000 is 230 kB; one JSON job per recipient would be 11 MB. Lua is given the
 * same layout when its files are loaded (libs/store/src/core/scripts/lua-constants.ts). Another layout has another
 * `RECORD_VERSION`, and that stays the first byte.
 *
 * A part is one message of a send to one recipient (media, then its text); there are at most `MAX_PARTS`.
 */
export const RECORD_VERSION = 2;
/**
 * The versions that are read: that one, and, once there is a next one, the one before it. A record keeps its version: both
 * are read until none of the former is left, which takes eight days.
 */
export const READ_VERSIONS: readonly number[] = [RECORD_VERSION];
export const MAX_PARTS = 8;

/** Fields in their order, with their bytes: unsigned, big-endian. */
type Layout = Readonly<Record<string, number>>;

/** What a send begins with. Times in ms; those that have not come are zero. */
export const HEAD_LAYOUT = {
  version: 1,
  /** A code: see statuses.ts. */
  state: 1,
  /** A code: see `KIND_CODES` (content/message-content.ts). */
  kind: 1,
  /** A code: see `PRIORITIES`. */
  priority: 1,
  parts: 1,
  /** Recipients; then how many of them have each status. */
  total: 2,
  ...({ queued: 2, sent: 2, delivered: 2, read: 2, failed: 2, expired: 2, cancelled: 2 } satisfies StatusCounts),
  createdAt: 6,
  expiresAt: 6,
  cancelledAt: 6,
  /** When the network accepted it; OTPs only. */
  sentAt: 6,
  /** Of the account that it was accepted for. */
  accountEpoch: 4,
  /** What it takes in Redis, as it was counted for its token. */
  bytes: 4,
  /** Of all texts at the end, with their lengths. */
  textBytes: 2,
} as const;
export const HEAD_BYTES = widthOf(HEAD_LAYOUT);
export type HeadField = keyof typeof HEAD_LAYOUT;

/** The texts at the end, in their order, each behind a byte that says how long it is. All are there from the beginning, and stay. */
export const TEXT_FIELDS = [
  'messageId',
  /** Id of the token that it was accepted from. */
  'owner',
  'requestId',
  /** What it holds of a blob; empty without one. */
  'blob',
] as const;
export type TextField = (typeof TEXT_FIELDS)[number];
/**
 * One more text stands behind these if the send is traced: `traceparent` of W3C, of the work that accepted it. Without it the send is
 * no byte longer, and a version that does not know it reads no further than it needs.
 */
const TRACE_BYTES = 1 + '00-0123456789abcdef0123456789abcdef-0123456789abcdef-01'.length;
const MOST_TEXT_BYTES = TEXT_FIELDS.length * 256 + TRACE_BYTES;

/** The number of a recipient as an unsigned big-endian integer; zero where it was taken out. */
export const RECIPIENT_BYTES = 8;

/** What follows the number in the place of a recipient. Fields of parts have a bit for each. */
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
} as const;
export type ResultField = keyof typeof RESULT_LAYOUT;
export const PLACE_BYTES = RECIPIENT_BYTES + widthOf(RESULT_LAYOUT);

/** The bytes of all fields together. */
export function widthOf(layout: Layout): number {
  return Object.values(layout).reduce((sum, bytes) => sum + bytes, 0);
}

/** Where each field begins. */
export function offsetsOf<F extends string>(layout: Readonly<Record<F, number>>): Record<F, number> {
  let next = 0;
  const offsets = Object.entries<number>(layout).map(([field, bytes]) => {
    next += bytes;
    return [field, next - bytes];
  });
  return Object.fromEntries(offsets);
}

/** The bytes from `start` to `end`, as `GETRANGE` counts: both are among them. */
export interface ByteRange {
  start: number;
  end: number;
}
export const HEAD_RANGE: ByteRange = { start: 0, end: HEAD_BYTES - 1 };
/** All texts are in these, whatever the length of the send. */
export const TEXT_RANGE: ByteRange = { start: -MOST_TEXT_BYTES, end: -1 };
/** The places of recipients `from` to `from + limit`; behind the last of them texts. */
export function placeRange(from: number, limit: number): ByteRange {
  return { start: HEAD_BYTES + from * PLACE_BYTES, end: HEAD_BYTES + (from + limit) * PLACE_BYTES - 1 };
}
