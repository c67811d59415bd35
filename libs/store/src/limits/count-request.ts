import { LIMITS } from '@gateway/contracts/limits';
import { defineScript, number } from '../core/scripts/define-script.js';
import type { Store } from '../core/store.js';
import { WorkspaceGoneError } from '../core/workspace-gone-error.js';

/** In the window that begins with the first of them, this one included, by whichever process. */
export interface Requests {
  requests: number;
  /** Until the window ends. */
  leftMs: number;
}

const step = {
  args: { windowMs: number },
  reply: (reply: unknown): Requests => {
    const [requests, leftMs] = reply as [number, number];
    return { requests, leftMs };
  },
} as const;
const countToken = defineScript({ name: 'count-token', whenFull: 'runs', keys: ['counter', 'token?'], ...step });
const countAddress = defineScript({ name: 'count-address', whenFull: 'refused', keys: ['counter'], ...step });

const windowMs = LIMITS.rateLimitWindowSeconds * 1000;

/**
 * Counts a request of a token, also when Redis is full. Throws `WorkspaceGoneError`, having counted nothing, when the token has gone with
 * its workspace.
 * @param counter its key. @param token the key of its record. Default: it is there.
 */
export async function countRequestOfToken(store: Store, counter: string, token?: string): Promise<Requests> {
  const counted = await countToken(store, { counter, token, windowMs });
  if (counted.requests < 0) throw new WorkspaceGoneError();
  return counted;
}

/** Counts a request of an address. A full Redis refuses it. @param counter its key. */
export function countRequestOfAddress(store: Store, counter: string): Promise<Requests> {
  return countAddress(store, { counter, windowMs });
}
