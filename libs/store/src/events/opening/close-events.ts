import type { Workspace } from '@gateway/contracts/ids';
import { eventWorkspacesKey, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import { defineScript, flag, number, text } from '../../core/scripts/define-script.js';
import { isOne, nothing } from '../../core/scripts/replies.js';
import { type Store, writeAlways } from '../../core/store.js';

const endStep = defineScript({
  name: 'end-events',
  whenFull: 'runs',
  keys: ['marks', 'webhooks'],
  args: { unreadSinceMs: number, onlyAsks: flag },
  reply: isOne,
});
const closeOutboxStep = defineScript({
  name: 'close-outbox',
  whenFull: 'runs',
  keys: ['outbox', 'outboxStamp'],
  args: { stamp: text },
  reply: nothing,
});
const dropLogStep = defineScript({
  name: 'drop-log',
  whenFull: 'runs',
  keys: ['log', 'marks', 'webhooks'],
  args: {},
  reply: isOne,
});

/** As long as the log goes back. */
const UNREAD_MS = 7 * 24 * 60 * 60_000;
const ALL_SHARDS = Array.from({ length: SHARDS }, (_, shard) => shard);

/** Ends the events of a workspace that has no webhook, and that no one has opened or read for a week. Answers whether it did. */
export async function closeUnwanted(store: Store, workspace: Workspace, nowMs: number): Promise<boolean> {
  const unreadSinceMs = nowMs - UNREAD_MS;
  const { webhooks, eventMarks: marks } = workspaceKeys(store.space, workspace);
  if (!(await endStep(store, { marks, webhooks, unreadSinceMs, onlyAsks: true }))) return false;
  return close(store, workspace, unreadSinceMs);
}

/** What is left of events that no one wants any more, or that were never opened. */
export function clearAway(store: Store, workspace: Workspace): Promise<boolean> {
  return close(store, workspace, 0);
}

/**
 * That they end is decided in one step. What follows it lies in many slots, and may come late or never, as where a process stands still or
 * dies. So who opens them meanwhile says so first, in the slot of that step, and puts another stamp on each outbox: from then on what is
 * theirs stays, wherever this is. Until the end the workspace is on the list, and the next look around goes on where this breaks off.
 */
async function close(store: Store, workspace: Workspace, unreadSinceMs: number): Promise<boolean> {
  const { webhooks, eventMarks: marks, eventLog: log } = workspaceKeys(store.space, workspace);
  const outboxes = ALL_SHARDS.map((shard) => {
    const { outbox, outboxStamp } = shardKeys(store.space, shard);
    return { outbox: outbox(workspace), outboxStamp: outboxStamp(workspace) };
  });
  // Before the decision.
  const stamps = await Promise.all(outboxes.map(({ outboxStamp }) => store.redis.get(outboxStamp)));
  if (!(await endStep(store, { marks, webhooks, unreadSinceMs, onlyAsks: false }))) return false;
  await Promise.all(outboxes.map((outbox, shard) => closeOutboxStep(store, { ...outbox, stamp: stamps[shard] ?? '' })));
  if (!(await dropLogStep(store, { log, marks, webhooks }))) return false;
  const list = eventWorkspacesKey(store.space);
  await store.redis.srem(list, workspace);
  // It lies in another slot: they may have been put on it just before.
  if (await dropLogStep(store, { log, marks, webhooks })) return true;
  await writeAlways(store, 'SADD', list, workspace);
  return false;
}
