import type { Workspace } from '@gateway/contracts/ids';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import { defineScript } from '../../core/scripts/define-script.js';
import type { Store } from '../../core/store.js';
import type { Outbox } from '../append-events.js';

const findStep = defineScript({
  name: 'find-full-outboxes',
  whenFull: 'runs',
  keys: ['...outboxes'],
  args: {},
  reply: (reply) => {
    const flat = reply as number[];
    return Array.from({ length: flat.length / 3 }, (_, i) => flat.slice(3 * i, 3 * i + 3) as [number, number, number]);
  },
});

export interface FullOutbox extends Outbox {
  entries: number;
  /** When the oldest of them was written, Unix ms; `undefined` for what is no stream. */
  oldestMs: number | undefined;
}

/**
 * The outboxes of these workspaces that hold something. One step for each shard, however many workspaces there are; or for each
 * workspace, if those are fewer and one Redis has all shards.
 */
export async function findFullOutboxes(store: Store, ...workspaces: Workspace[]): Promise<FullOutbox[]> {
  if (workspaces.length === 0) return [];
  const ofShard = (shard: number) => workspaces.map((workspace) => ({ workspace, shard }));
  const ofWorkspace = (workspace: Workspace) => ALL_SHARDS.map((shard) => ({ workspace, shard }));
  const isByShard = isCluster(store.redis) || workspaces.length >= SHARDS;
  const together = isByShard ? ALL_SHARDS.map(ofShard) : workspaces.map(ofWorkspace);
  const found = await Promise.all(together.map((outboxes) => findIn(store, outboxes)));
  return found.flat();
}

const ALL_SHARDS = Array.from({ length: SHARDS }, (_, shard) => shard);

async function findIn(store: Store, among: readonly Outbox[]): Promise<FullOutbox[]> {
  const outboxes = among.map(({ workspace, shard }) => shardKeys(store.space, shard).outbox(workspace));
  const counts = await findStep(store, { outboxes });
  return counts.map(([place, entries, oldestMs]) => ({
    ...among[place]!,
    ...{ entries, oldestMs: oldestMs || undefined },
  }));
}
