import { comparePlaces, type LogPlace } from '@gateway/contracts/events/cursor';
import type { Workspace } from '@gateway/contracts/ids';
import { type ShardSet, shardOfEvent, toShardSet } from '@gateway/contracts/shards';
import type { Store } from '@gateway/store/core/store';
import { readLog } from '@gateway/store/events/read-log';
import { isWanted } from '@gateway/store/events/render-events';
import { filterOf, isFor } from '../feed.js';
import type { LanePlace } from './look-ahead.js';

const ENTRIES_AT_ONCE = 100;

/** Of which shards it is that a lane tells between two places: for this nothing but the log is read. */
export async function findShards(
  { store, workspace }: { store: Store; workspace: Workspace },
  { webhook, lane, after }: Pick<LanePlace, 'webhook' | 'lane' | 'after'>,
  end: LogPlace,
): Promise<ShardSet> {
  const filter = filterOf(webhook);
  const isOfTime = (atMs: number) => isFor(webhook, lane, atMs);
  const shards = new Set<number>();
  for (let former = after.entry; ; ) {
    const found = await readLog(
      store,
      workspace,
      { entry: former, offset: 0 },
      {
        limit: ENTRIES_AT_ONCE,
        isWanted: isOfTime,
      },
    );
    if ('oldest' in found) {
      former = found.oldest.entry;
      continue;
    }
    for (const entry of found.entries) {
      if (comparePlaces({ entry: former, offset: 0 }, end) >= 0) return toShardSet(shards);
      former = entry.id;
      const isTold =
        (lane === 'replay' || entry.class === lane) && isOfTime(entry.atMs) && isWanted(workspace, entry, filter);
      if (isTold) shards.add(shardOfEvent({ workspace, device: entry.device }));
    }
    if (found.isLast) return toShardSet(shards);
  }
}
