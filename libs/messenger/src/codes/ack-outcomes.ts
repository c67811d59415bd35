import { meaningOfAck } from './network-codes.js';

/** Outcome of one message, from the network's `ack`. */
export type AckOutcome =
  | { kind: 'accepted' /** When the ack came. */; atMs: number }
  /** Final: the same message would be refused again. */
  | { kind: 'refused'; code: number }
  /** The network is busy: the same id again, later. */
  | { kind: 'retryLater'; code: number }
  /** The account may not start new chats (463), or has used up its quota of them (475). Not to be repeated before the network lifts that: each try makes it worse. */
  | { kind: 'restricted'; code: number }
  /** Our list of the recipient's devices is out of date, even after a fresh look. */
  | { kind: 'staleDevices'; code: number }
  /** No ack in time, or the connection ended first. The message may have arrived: the same id again. */
  | { kind: 'unacknowledged' };

/** A kind that is not here does not compile. */
export const ACK_OUTCOMES = Object.keys({
  accepted: 1,
  refused: 1,
  retryLater: 1,
  restricted: 1,
  staleDevices: 1,
  unacknowledged: 1,
} satisfies Record<AckOutcome['kind'], 1>) as AckOutcome['kind'][];

const BAD_REQUEST = 400;

/** @param error the `error` attribute of an ack; absent on a good one. One that is no number counts as 400. */
export function toAckOutcome(error: string | undefined, nowMs: number): AckOutcome {
  if (error === undefined) return { kind: 'accepted', atMs: nowMs };
  const code = Number.parseInt(error, 10) || BAD_REQUEST;
  return { kind: meaningOfAck(code), code };
}
