import type { RecipientView } from '@gateway/contracts/sends/packed-send';
import { pauseAfter } from './retries.js';

/** Number of owners that died with a recipient in flight (or attempts before that) after which the recipient is a suspect. */
const MANY_ATTEMPTS = 3;
/** With this many suspects in one send, its content may be the cause. */
const MANY_SUSPECTS = 2;

/** The recipients of a send that may have caused the death of its owners. */
export interface Suspects {
  /** Those with the fewest attempts first: innocent ones are cleared before the likely cause is attempted again. */
  each: { index: number; notBeforeMs: number }[];
  /** When the send may continue; 0: no pause. It doubles with each owner that dies. */
  sendNotBeforeMs: number;
}

export function findSuspects(recipients: readonly RecipientView[]): Suspects {
  const lost = recipients.filter(({ partsInFlight }) => partsInFlight > 0);
  const found = lost.filter(({ attempts }) => attempts >= MANY_ATTEMPTS).toSorted((a, b) => a.attempts - b.attempts);
  const sendNotBeforeMs = isSuspectSend(found.length) ? pauseOfAll(lost) : 0;
  const each = found.map(({ index, attempts, atMs }) => {
    const notBeforeMs = Math.max(atMs + pauseAfter(attempts - MANY_ATTEMPTS), sendNotBeforeMs);
    return { index, notBeforeMs };
  });
  return { each, sendNotBeforeMs };
}

export function isSuspectSend(suspects: number): boolean {
  return suspects >= MANY_SUSPECTS;
}

function pauseOfAll(lost: readonly RecipientView[]): number {
  let [attempts, lastMs] = [0, 0];
  for (const { attempts: ofOne, atMs } of lost) {
    attempts += ofOne;
    lastMs = Math.max(lastMs, atMs);
  }
  return lastMs + pauseAfter(attempts - MANY_SUSPECTS * MANY_ATTEMPTS);
}
