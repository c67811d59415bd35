import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { defineScript, number, text } from '../../core/scripts/define-script.js';
import { words } from '../../core/scripts/replies.js';
import type { Store } from '../../core/store.js';
import type { Lease } from '../../fleet/leases.js';

/** A query is left out when the ends of the connection during it, in a row, come to this: two, or four without a word. */
const MAX_BLAME = 4;
const BLAME = { spoken: 2, wordless: 1 };
/** Then it is tried again: it may have been a bad network both times, or the network has changed its mind. */
const LEFT_OUT_MS = 24 * 60 * 60_000;

const noteEndStep = defineScript({
  name: 'note-end',
  whenFull: 'runs',
  isFenced: true,
  keys: ['queryEnds'],
  args: { limit: number, ttlMs: number, queries: text, blame: number },
  reply: words,
});

/** The queries that ended the connection of this account whenever they were asked: its owner, whichever process that is, leaves them out. */
export async function readLeftOut(store: Store, address: DeviceAddress): Promise<Set<string>> {
  const ends = await store.redis.hgetall(deviceKeys(store.space, address).queryEnds);
  return new Set(Object.keys(ends).filter((query) => Number(ends[query]) >= MAX_BLAME));
}

/**
 * What a session says of its end: to be noted before the next one opens, which must know what to leave out. Never rejects.
 * @param queries all that can be left out.
 * @param end without `suspects` it tells nothing.
 */
export async function noteSuspects(
  { store, lease, logger }: { store: Store; lease: Lease; logger: Logger },
  queries: readonly string[],
  { suspects, isSaid }: { suspects?: readonly string[]; isSaid?: true },
): Promise<void> {
  if (!suspects) return;
  const wasOpen = Object.fromEntries(queries.map((query) => [query, suspects.includes(query)]));
  try {
    for (const query of await noteEnd(store, lease, { wasOpen, end: isSaid ? 'spoken' : 'wordless' })) {
      logger.warn('a query that ends the connection is left out for a day', { query });
    }
  } catch (thrown) {
    logger.warn('end of a connection not noted', { error: toError(thrown) });
  }
}

/**
 * The network has ended the connection. @param wasOpen each query that can be left out: whether it was without an answer.
 * @param end whether the network said that it ends it. A path that breaks often looks like a network that hangs up, and a
 * new owner does not know yet what is answered: so that counts for half.
 * Returns those that are left out from now on. Throws `FencedError` for a stale owner.
 */
export async function noteEnd(
  store: Store,
  lease: Lease,
  { wasOpen, end }: { wasOpen: Record<string, boolean>; end: keyof typeof BLAME },
): Promise<string[]> {
  const { queryEnds } = deviceKeys(store.space, lease.address);
  const news = { queries: JSON.stringify(wasOpen), blame: BLAME[end] };
  return noteEndStep(store, lease, { queryEnds, limit: MAX_BLAME, ttlMs: LEFT_OUT_MS, ...news });
}
