import { comparePlaces, type LogPlace } from '@gateway/contracts/events/cursor';
import type { Workspace } from '@gateway/contracts/ids';
import { type ShardSet, shardOf, toShardSet } from '@gateway/contracts/shards';
import type { Store } from '@gateway/store/core/store';
import { readLog } from '@gateway/store/events/read-log';
import { isOfShards } from '@gateway/store/events/render-events';
import { isFor } from '../feed.js';
import type { LanePlace } from './look-ahead.js';

const ENTRIES_AT_ONCE = 100;

/** Of whose devices it is that a lane tells between two places: for this nothing but the log is read. */
export async function findShards(
  { store, workspace }: { store: Store; workspace: Workspace },
  { webhook, lane, after }: Pick<LanePlace, 'webhook' | 'lane' | 'after'>,
  end: LogPlace,
): Promise<ShardSet> {
  const { devices } = webhook.settings;
  const isWanted = (atMs: number) => isFor(webhook, lane, atMs);
  const shards = new Set<number>();
  for (let former = after.entry; ; ) {
    const found = await readLog(store, workspace, { entry: former, offset: 0 }, { limit: ENTRIES_AT_ONCE, isWanted });
    if ('oldest' in found) {
      former = found.oldest.entry;
      continue;
    }
    for (const { id, class: kind, device } of found.entries) {
      if (comparePlaces({ entry: former, offset: 0 }, end) >= 0) return toShardSet(shards);
      former = id;
      if (device === undefined || kind !== lane || (devices && !devices.includes(device))) continue;
      const address = { workspace, device };
      if (!webhook.shards || isOfShards(webhook.shards, address)) shards.add(shardOf(address));
    }
    if (found.isLast) return toShardSet(shards);
  }
}
