import { compareEntries, comparePlaces, parseCursor } from '@gateway/contracts/events/cursor';
import type { Workspace } from '@gateway/contracts/ids';
import type { TellRange } from '@gateway/contracts/webhooks/webhook';
import type { Store } from '../../core/store.js';
import { readLog } from '../../events/read-log.js';
import { type EntryEvent, type EventFilter, entryReader } from '../../events/render-events.js';

/** As many as are looked through for an event. */
const MOST_ENTRIES = 500;

/**
 * Whether an endpoint that asks for `filter` by now would be told something of what was in a request. In doubt it would: where 500 entries of
 * the log do not reach its end, and of a single change that was told once more, which may be told in another way by now.
 */
export async function isAskedFor(
  store: Store,
  workspace: Workspace,
  { lane, after, to, times, shards }: TellRange,
  filter: EventFilter,
): Promise<boolean> {
  const [from, last] = [parseCursor(after)!, parseCursor(to)!];
  const found = await readLog(store, workspace, from, { limit: MOST_ENTRIES });
  if ('oldest' in found) return false;
  const eachOf = entryReader(store, workspace, { ...filter, ...(shards && { shards }), leavesOutIds: true });
  let { entry: former, offset: taken } = from;
  const isWithin = ({ end, rowEnds: [first = end] = [] }: EntryEvent) =>
    lane === 'replay' || (end > taken && comparePlaces({ entry: former, offset: first }, last) <= 0);
  for (const entry of found.entries) {
    if (comparePlaces({ entry: former, offset: taken }, last) >= 0) return false;
    const isThen = !times || (entry.atMs >= times.fromMs && entry.atMs < times.beforeMs);
    if (isThen && (lane === 'replay' || entry.class === lane))
      for await (const event of eachOf(entry, taken, [])) if (isWithin(event)) return true;
    [former, taken] = [entry.id, 0];
  }
  return compareEntries(former, last.entry) < 0;
}
