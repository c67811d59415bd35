import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import type { Store } from '../../core/store.js';
import type { Ownership } from '../../fleet/ownership.js';
import { MAX_BLAME, noteEnd } from './note-end.js';

/** The queries that ended the connection of this account whenever they were asked: its owner, whichever process that is, leaves them out. */
export async function readLeftOut(store: Store, address: DeviceAddress): Promise<Set<string>> {
  const ends = await store.redis.hgetall(deviceKeys(store.space, address).queryEnds);
  return new Set(Object.keys(ends).filter((query) => Number(ends[query]) >= MAX_BLAME));
}

/**
 * Records the end of a session, before the next one opens, which must know the queries to leave out. Never rejects.
 * @param queries all that can be left out.
 * @param end without `suspects` it tells nothing.
 */
export async function noteSuspects(
  { store, ownership, logger }: { store: Store; ownership: Ownership; logger: Logger },
  queries: readonly string[],
  { suspects, isSaid }: { suspects?: readonly string[]; isSaid?: true },
): Promise<void> {
  if (!suspects) return;
  const wasOpen = Object.fromEntries(queries.map((query) => [query, suspects.includes(query)]));
  try {
    for (const query of await noteEnd(store, ownership, { wasOpen, end: isSaid ? 'spoken' : 'wordless' })) {
      logger.warn('a query that ends the connection is left out for a day', { query });
    }
  } catch (thrown) {
    logger.warn('end of a connection not recorded', { error: toError(thrown) });
  }
}
