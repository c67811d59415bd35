import type { RecipientView } from '@gateway/store/sends/read-send';
import { pauseAfter } from './retries.js';

/** Owners that ended with a recipient in flight, or attempts before that, after which it may be what ended them. */
const MANY_ATTEMPTS = 3;
/** With so many in one send it may be what all of its recipients get that ends processes. */
const MANY_SUSPECTS = 2;

/** Those of a send who may be what ended its owners. */
export interface Suspects {
  /** Those with the fewest attempts first: who shared the fate of another is cleared before that one is attempted again. */
  each: { index: number; notBeforeMs: number }[];
  /** When anybody of the send may be written to again; 0: no such pause. It doubles with each owner that ends. */
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
