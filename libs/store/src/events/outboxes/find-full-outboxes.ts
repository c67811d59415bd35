import type { Workspace } from '@gateway/contracts/ids';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import { defineScript } from '../../core/scripts/define-script.js';
import type { Store } from '../../core/store.js';
import type { Outbox } from '../relay-outbox.js';

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

/** The outboxes of these workspaces that hold something. One step for each shard, however many workspaces there are. */
export async function findFullOutboxes(store: Store, ...workspaces: Workspace[]): Promise<FullOutbox[]> {
  if (workspaces.length === 0) return [];
  const shards = Array.from({ length: SHARDS }, (_, shard) => shard);
  const found = await Promise.all(
    shards.map(async (shard) => {
      const outboxes = workspaces.map((workspace) => shardKeys(store.space, shard).outbox(workspace));
      const counts = await findStep(store, { outboxes });
      return counts.map(([place, entries, oldestMs]) => ({
        ...{ workspace: workspaces[place]!, shard, entries },
        oldestMs: oldestMs || undefined,
      }));
    }),
  );
  return found.flat();
}
