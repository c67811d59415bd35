import type { Workspace } from '@gateway/contracts/ids';
import { eventWorkspacesKey, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import { systemClock } from '@gateway/runtime/clock';
import { defineScript } from '../core/scripts/define-script.js';
import { type Store, writeAlways } from '../core/store.js';

const openStreamStep = defineScript({
  name: 'open-stream',
  whenFull: 'runs',
  keys: ['stream'],
  args: {},
  reply: String,
});

const ALL_SHARDS = Array.from({ length: SHARDS }, (_, shard) => shard);

/**
 * Someone wants the events of a workspace: from the return of this on each change has one. Safe to repeat; what was open stays.
 * Needs 64 small streams, hence to be closed when no one wants them any more.
 */
export async function openEvents(store: Store, workspace: Workspace): Promise<void> {
  if (await areEventsOpen(store, workspace)) return;
  const { eventLog, eventMarks } = workspaceKeys(store.space, workspace);
  await writeAlways(store, 'SADD', eventWorkspacesKey(store.space), workspace);
  const begin = await openStreamStep(store, { stream: eventLog });
  // Cursors of a former log are of no use.
  await writeAlways(store, 'HSETNX', eventMarks, 'goneTo', begin);
  await Promise.all(
    ALL_SHARDS.map((shard) => openStreamStep(store, { stream: shardKeys(store.space, shard).outbox(workspace) })),
  );
  await writeAlways(store, 'HSET', eventMarks, 'openedAtMs', systemClock.nowMs(), 'isOpen', 1);
}

export async function areEventsOpen(store: Store, workspace: Workspace): Promise<boolean> {
  return (await store.redis.hget(workspaceKeys(store.space, workspace).eventMarks, 'isOpen')) === '1';
}

/** No one wants them any more: what was not read is forgotten. Safe to repeat. */
export async function closeEvents(store: Store, workspace: Workspace): Promise<void> {
  const { eventLog, eventMarks } = workspaceKeys(store.space, workspace);
  await store.redis.unlink(eventMarks);
  await Promise.all(
    ALL_SHARDS.map(async (shard) => {
      const outbox = shardKeys(store.space, shard).outbox(workspace);
      await store.redis.unlink(outbox, `${outbox}:missing`);
    }),
  );
  await store.redis.unlink(eventLog);
  await store.redis.srem(eventWorkspacesKey(store.space), workspace);
}

export async function listEventWorkspaces(store: Store): Promise<Workspace[]> {
  return store.redis.smembers(eventWorkspacesKey(store.space));
}
