import { comparePlaces, type LogPlace, sayCursor } from '@gateway/contracts/events/cursor';
import type { Workspace } from '@gateway/contracts/ids';
import { type ShardSet, shardOfEvent, toShardSet } from '@gateway/contracts/shards';
import type { EventTimes } from '@gateway/contracts/webhooks/webhook';
import type { Store } from '@gateway/store/core/store';
import { type LoggedEntry, readLog } from '@gateway/store/events/read-log';
import { isWanted } from '@gateway/store/events/render-events';
import { filterOf, isFor } from '../feed.js';
import type { LanePlace } from './look-ahead.js';

/** For what is asked here nothing but the log is read. */
type LogReading = { store: Store; workspace: Workspace };
type Place = Pick<LanePlace, 'webhook' | 'lane' | 'after'>;

const ENTRIES_AT_ONCE = 100;
/** More than a lane leaves unwritten. */
const MOST_LOOKED_AT = 2_000;

/** Of which shards it is that a lane tells between two places. */
export async function findShards(reading: LogReading, place: Place, end: LogPlace): Promise<ShardSet> {
  const shards = new Set<number>();
  for await (const { entry, isTold } of entriesBehind(reading, place, end))
    if (isTold) shards.add(shardOfEvent({ workspace: reading.workspace, device: entry.device }));
  return toShardSet(shards);
}

/** Behind which place something lies that happened in these times, and that a lane has to tell, or may have: not all of a long way is looked at. `undefined`: there is none up to the end. */
export async function findUntold(
  reading: LogReading,
  place: Place,
  { end, times }: { end: LogPlace; times: EventTimes | undefined },
): Promise<string | undefined> {
  let looked = 0;
  for await (const { entry, former, isTold } of entriesBehind(reading, place, end)) {
    const isOfTime = !times || (entry.atMs >= times.fromMs && entry.atMs < times.beforeMs);
    if ((isTold && isOfTime) || ++looked > MOST_LOOKED_AT)
      return sayCursor(former === place.after.entry ? place.after : { entry: former, offset: 0 });
  }
  return undefined;
}

async function* entriesBehind(
  { store, workspace }: LogReading,
  { webhook, lane, after }: Place,
  end: LogPlace,
): AsyncGenerator<{ entry: LoggedEntry; former: string; isTold: boolean }> {
  const filter = filterOf(webhook);
  const isOfTime = (atMs: number) => isFor(webhook, lane, atMs);
  const how = { limit: ENTRIES_AT_ONCE, isWanted: isOfTime };
  for (let former = after.entry; ; ) {
    const found = await readLog(store, workspace, { entry: former, offset: 0 }, how);
    if ('oldest' in found) {
      former = found.oldest.entry;
      continue;
    }
    for (const entry of found.entries) {
      if (comparePlaces({ entry: former, offset: 0 }, end) >= 0) return;
      const isTold =
        (lane === 'replay' || entry.class === lane) && isOfTime(entry.atMs) && isWanted(workspace, entry, filter);
      yield { entry, former, isTold };
      former = entry.id;
    }
    if (found.isLast) return;
  }
}
