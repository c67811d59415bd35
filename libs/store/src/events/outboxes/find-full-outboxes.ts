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

/** Outboxes about which one step asks: those of a shard, or those of a workspace. */
export interface OutboxGroup {
  name: string;
  outboxes: readonly Outbox[];
}

/** All of these workspaces. By shard, however many workspaces there are; or by workspace, if those are fewer and one Redis has all shards. */
export function groupOutboxes({ redis }: Store, workspaces: readonly Workspace[]): OutboxGroup[] {
  if (workspaces.length === 0) return [];
  if (!isCluster(redis) && workspaces.length < SHARDS) {
    return workspaces.map((workspace) => {
      return { name: workspace, outboxes: ALL_SHARDS.map((shard) => ({ workspace, shard })) };
    });
  }
  return ALL_SHARDS.map((shard) => {
    return { name: `${shard}`, outboxes: workspaces.map((workspace) => ({ workspace, shard })) };
  });
}

const ALL_SHARDS = Array.from({ length: SHARDS }, (_, shard) => shard);

/** Those of a group that hold something. */
export async function findFullIn(store: Store, { outboxes: among }: OutboxGroup): Promise<FullOutbox[]> {
  const outboxes = among.map(({ workspace, shard }) => shardKeys(store.space, shard).outbox(workspace));
  const counts = await findStep(store, { outboxes });
  return counts.map(([place, entries, oldestMs]) => ({
    ...among[place]!,
    ...{ entries, oldestMs: oldestMs || undefined },
  }));
}
