import type { Workspace } from '@gateway/contracts/ids';
import { eventWorkspacesKey, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import { systemClock } from '@gateway/runtime/clock';
import { defineScript } from '../core/scripts/define-script.js';
import { isOne } from '../core/scripts/replies.js';
import { type Store, writeAlways } from '../core/store.js';

const openStreamStep = defineScript({
  name: 'open-stream',
  whenFull: 'runs',
  keys: ['stream'],
  args: {},
  reply: String,
});

const forgetMarksStep = defineScript({
  name: 'forget-marks',
  whenFull: 'runs',
  keys: ['marks'],
  args: {},
  reply: isOne,
});

const ALL_SHARDS = Array.from({ length: SHARDS }, (_, shard) => shard);

/**
 * Someone wants the events of a workspace: from the return of this on each change has one. Safe to repeat; what was open stays.
 * Needs 64 small streams, hence to be closed when no one wants them any more.
 */
export async function openEvents(store: Store, workspace: Workspace): Promise<void> {
  if (await areEventsOpen(store, workspace)) return;
  // First: where this breaks off, it is known since when.
  await writeAlways(store, 'HSET', workspaceKeys(store.space, workspace).eventMarks, 'openedAtMs', systemClock.nowMs());
  await mendEvents(store, workspace);
}

/** Makes what is missing of open events: Redis may have lost a stream in a failover, and into none nothing is written. Safe to repeat. */
export async function mendEvents(store: Store, workspace: Workspace): Promise<void> {
  const { eventLog, eventMarks } = workspaceKeys(store.space, workspace);
  await writeAlways(store, 'SADD', eventWorkspacesKey(store.space), workspace);
  const begin = await openStreamStep(store, { stream: eventLog });
  // Cursors of a former log are of no use.
  await writeAlways(store, 'HSETNX', eventMarks, 'goneTo', begin);
  await Promise.all(
    ALL_SHARDS.map((shard) => openStreamStep(store, { stream: shardKeys(store.space, shard).outbox(workspace) })),
  );
  await writeAlways(store, 'HSET', eventMarks, 'isOpen', 1);
}

export async function areEventsOpen(store: Store, workspace: Workspace): Promise<boolean> {
  return (await store.redis.hget(workspaceKeys(store.space, workspace).eventMarks, 'isOpen')) === '1';
}

/**
 * No one wants them any more: what was not read is forgotten. Safe to repeat, wherever it breaks off: until the end they are on the list.
 * Answers `false` when someone has opened them meanwhile: they are open then.
 */
export async function closeEvents(store: Store, workspace: Workspace): Promise<boolean> {
  const { eventLog, eventMarks } = workspaceKeys(store.space, workspace);
  await store.redis.hdel(eventMarks, 'isOpen');
  await Promise.all(
    ALL_SHARDS.map(async (shard) => {
      const outbox = shardKeys(store.space, shard).outbox(workspace);
      await store.redis.unlink(outbox, `${outbox}:missing`);
    }),
  );
  await store.redis.unlink(eventLog);
  if (await forgetMarksStep(store, { marks: eventMarks })) {
    await store.redis.srem(eventWorkspacesKey(store.space), workspace);
    if (!(await areEventsOpen(store, workspace))) return true;
  }
  await mendEvents(store, workspace);
  return false;
}

export async function listEventWorkspaces(store: Store): Promise<Workspace[]> {
  return store.redis.smembers(eventWorkspacesKey(store.space));
}
