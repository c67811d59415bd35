import { randomUUID } from 'node:crypto';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { defineScript, number, text } from '../../core/scripts/define-script.js';
import { words } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import type { Ownership } from '../../fleet/ownership.js';

/** A query is left out when the ends of the connection during it, in a row, come to this: two, or four without a word. */
export const MAX_BLAME = 4;
const BLAME = { spoken: 2, wordless: 1 };
/** Then it is tried again: it may have been a bad network both times, or the network has changed its mind. */
const LEFT_OUT_MS = 24 * 60 * 60_000;

const noteEndStep = defineScript({
  name: 'note-end',
  whenFull: 'runs',
  isFenced: true,
  keys: ['queryEnds'],
  args: { limit: number, ttlMs: number, queries: text, blame: number, endId: text },
  reply: words,
});

/**
 * The network has ended the connection. @param wasOpen each query that can be left out: whether it was without an answer.
 * @param end whether the network said that it ends it. A path that breaks often looks like a network that hangs up, and a
 * new owner does not know yet which ones are answered: so that counts half.
 * Returns those that are left out from now on. Throws `FencedError` for a stale owner.
 */
export async function noteEnd(
  store: Store,
  ownership: Ownership,
  { wasOpen, end }: { wasOpen: Record<string, boolean>; end: keyof typeof BLAME },
): Promise<string[]> {
  const { queryEnds } = deviceKeys(store.space, ownership.address);
  const news = { queries: JSON.stringify(wasOpen), blame: BLAME[end], endId: randomUUID() };
  return noteEndStep(store, ownership, { queryEnds, limit: MAX_BLAME, ttlMs: LEFT_OUT_MS, ...news });
}
