import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { Store } from '../core/store.js';
import { appendEvents, keyOfOutbox, makeAttempt, type Outbox } from './append-events.js';
import { gapEntry } from './gap-entry.js';

/**
 * Counts gaps, each once and by one process. What was not answered may have been done: the attempt is kept until an answer comes, and
 * the mark says whose it is.
 */
export class GapCount {
  readonly #unanswered = new Map<string, string>();

  constructor(private readonly count: () => void) {}

  /** The one that was not answered, or another. */
  attempt(place: string): string {
    const attempt = this.#unanswered.get(place) ?? makeAttempt();
    this.#unanswered.set(place, attempt);
    return attempt;
  }

  /** @param by whose the mark is. */
  settle(place: string, by: string | null): void {
    if (by !== null && by === this.#unanswered.get(place)) this.count();
    this.#unanswered.delete(place);
  }
}

/** What an outbox had no room for is a gap in the log. Answers how many entries that are, one or none. */
export async function tellMissing(store: Store, outbox: Outbox, gaps: GapCount): Promise<number> {
  const field = `${outbox.shard}:missing`;
  const place = `${outbox.workspace}/${outbox.shard}`;
  const [count, [known, by]] = await Promise.all([
    store.redis.get(`${keyOfOutbox(store, outbox)}:missing`),
    store.redis.hmget(workspaceKeys(store.space, outbox.workspace).eventMarks, field, `${field}:by`),
  ]);
  gaps.settle(place, by ?? null);
  const [missing, told] = [Number(count ?? 0), known ?? '0'];
  if (missing === Number(told) || (missing < Number(told) && !(await hasGoneBack(store, outbox, told)))) return 0;
  const attempt = gaps.attempt(place);
  // After Redis has gone back no one knows how many of these were told.
  const entries = missing > 0 ? [gapEntry(Math.max(missing - Number(told), 0))] : [];
  const outcome = await appendEvents(store, outbox, {
    field,
    none: '0',
    expected: told,
    mark: `${missing}`,
    entries,
    attempt,
  });
  gaps.settle(place, outcome === 'appended' && entries.length > 0 ? attempt : null);
  return outcome === 'appended' ? entries.length : 0;
}

/** The count lies in another slot than what was told of it. It is asked for once more, as another relay may have told of more since. */
async function hasGoneBack(store: Store, outbox: Outbox, told: string): Promise<boolean> {
  return Number((await store.redis.get(`${keyOfOutbox(store, outbox)}:missing`)) ?? 0) < Number(told);
}
