import { LIMITS } from '@gateway/contracts/limits';
import { defineScript, number } from '../core/scripts/define-script.js';
import type { Store } from '../core/store.js';

/** In the window that begins with the first of them, this one included, by whichever process. */
export interface Requests {
  requests: number;
  /** Until the window ends. */
  leftMs: number;
}

const step = {
  keys: ['counter'],
  args: { windowMs: number },
  reply: (reply: unknown): Requests => {
    const [requests, leftMs] = reply as [number, number];
    return { requests, leftMs };
  },
} as const;
const countToken = defineScript({ name: 'count-token', whenFull: 'runs', ...step });
const countAddress = defineScript({ name: 'count-address', whenFull: 'refused', ...step });

const windowMs = LIMITS.rateLimitWindowSeconds * 1000;

/** Counts a request of a token, also when Redis is full. @param counter its key. */
export function countRequestOfToken(store: Store, counter: string): Promise<Requests> {
  return countToken(store, { counter, windowMs });
}

/** Counts a request of an address. A full Redis refuses it. @param counter its key. */
export function countRequestOfAddress(store: Store, counter: string): Promise<Requests> {
  return countAddress(store, { counter, windowMs });
}
