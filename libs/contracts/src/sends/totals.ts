import { KIND_CODES, SEND_KINDS, type SendKind } from '../content/message-content.js';
import { RECIPIENT_STATUSES, type RecipientStatus } from './statuses.js';

/**
 * All recipients that were ever accepted, by the kind of their send: how many came to each status, then how many left it again. Those
 * that were accepted came to `queued`; who came to `read` came to `sent` and `delivered` before. Each an unsigned big-endian integer.
 */
export const TOTAL_BYTES = 6;

export interface KindTotals {
  /** Grows only. */
  reached: Record<RecipientStatus, number>;
  /** Who has the status now. All together are those that were accepted. */
  now: Record<RecipientStatus, number>;
}
export type Totals = Record<SendKind, KindTotals>;

/** The sum of several such strings. */
export function addTotals(strings: readonly Buffer[]): Totals {
  const sum = (place: number) => strings.reduce((total, bytes) => total + readPlace(bytes, place), 0);
  const ofKind = (kind: SendKind): KindTotals => {
    const first = KIND_CODES[kind] * 2 * RECIPIENT_STATUSES.length;
    const came = RECIPIENT_STATUSES.map((_, code) => sum(first + code));
    const left = RECIPIENT_STATUSES.map((_, code) => sum(first + RECIPIENT_STATUSES.length + code));
    return { reached: byStatus((code) => came[code]!), now: byStatus((code) => came[code]! - left[code]!) };
  };
  return Object.fromEntries(SEND_KINDS.map((kind) => [kind, ofKind(kind)])) as Totals;
}

function readPlace(bytes: Buffer, place: number): number {
  const at = place * TOTAL_BYTES;
  return at + TOTAL_BYTES <= bytes.length ? bytes.readUIntBE(at, TOTAL_BYTES) : 0;
}

function byStatus(countOf: (code: number) => number): Record<RecipientStatus, number> {
  return Object.fromEntries(RECIPIENT_STATUSES.map((status, code) => [status, countOf(code)])) as Record<
    RecipientStatus,
    number
  >;
}
