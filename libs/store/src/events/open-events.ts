import { randomBytes } from 'node:crypto';
import type { Workspace } from '@gateway/contracts/ids';
import { eventWorkspacesKey, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import { systemClock } from '@gateway/runtime/clock';
import { GatewayError } from '@gateway/runtime/errors';
import { unlessRedisIsAway } from '@gateway/runtime/redis/is-redis-away';
import { lastKnown } from '../core/away/last-known.js';
import { confirmEverywhere, connectToAll } from '../core/confirming/confirm-everywhere.js';
import { type Store, writeAlways } from '../core/store.js';
import { WorkspaceGoneError } from '../core/workspace-gone-error.js';
import { listWorkspaces } from '../workspace/workspaces.js';
import { clearAway } from './opening/close-events.js';
import { finishStep, openLogStep, openOutboxStep, wantStep } from './opening/opening-steps.js';

const ALL_SHARDS = Array.from({ length: SHARDS }, (_, shard) => shard);

/**
 * Someone wants the events of a workspace: from the return of this on each change has one, and no one ends them for a week. Safe to
 * repeat; what was open stays. Needs 64 small streams, hence to be closed when no one wants them any more. Throws `WorkspaceGoneError`,
 * having written nothing, when the workspace has been deleted since a caller was let in, and `not_confirmed` until replicas have all
 * of them.
 * @param options.keyId of the token of that caller.
 */
export async function openEvents(
  store: Store,
  workspace: Workspace,
  { keyId }: { keyId?: string } = {},
): Promise<void> {
  // First: who ends them leaves alone what comes behind it.
  const { eventMarks: marks, token } = workspaceKeys(store.space, workspace);
  const asked = { marks, token: keyId === undefined ? undefined : token(keyId), nowMs: systemClock.nowMs() };
  const areOpen = await wantStep(store, asked);
  if (areOpen === -1) throw new WorkspaceGoneError();
  if (areOpen === 0) {
    const made = await make(store, workspace, { isOpenedAnew: true });
    // That someone wants them is there no more: a failover took it back, or the workspace was deleted.
    if (made === undefined)
      throw new GatewayError({ code: 'not_confirmed', message: 'the events of a workspace were not opened' });
  } else await mendPlaceOnList(store, workspace);
}

/**
 * Makes what is missing of events that someone wants: Redis may have lost a stream in a failover, and into none nothing is written; or
 * their place on the list. Answers how many outboxes it had lost: each tells of a gap. Safe to repeat.
 */
export async function mendEvents(store: Store, workspace: Workspace): Promise<number> {
  return (await make(store, workspace, { isOpenedAnew: false })) ?? 0;
}

/**
 * The same where a bell has rung, for a workspace that is on no list: one that is there is looked after. Where no one wants them there may
 * be an outbox all the same: who made it stood still while others ended them, and died. No one would ever empty it.
 */
export async function mendHeardEvents(store: Store, workspace: Workspace): Promise<number> {
  if ((await store.redis.sismember(eventWorkspacesKey(store.space), workspace)) === 1) return 0;
  const lost = await make(store, workspace, { isOpenedAnew: false });
  if (lost === undefined) await clearAway(store, workspace);
  return lost ?? 0;
}

/** Answers how many outboxes were lost since all was there; `undefined`: no one wants them. */
async function make(
  store: Store,
  workspace: Workspace,
  { isOpenedAnew }: { isOpenedAnew: boolean },
): Promise<number | undefined> {
  const { eventLog: log, eventMarks: marks, webhooks } = workspaceKeys(store.space, workspace);
  const since = await connectToAll(store);
  const found = await openLogStep(store, { log, marks, webhooks });
  if (found === 'unwanted') return undefined;
  await putOnList(store, workspace);
  const how = { stamp: randomBytes(9).toString('base64url'), isOpenedAnew, wasThere: found === 'open' };
  const nowMs = systemClock.nowMs();
  const areLost = await Promise.all(
    ALL_SHARDS.map((shard) => {
      const { outbox, outboxStamp } = shardKeys(store.space, shard);
      return openOutboxStep(store, { outbox: outbox(workspace), outboxStamp: outboxStamp(workspace), nowMs, ...how });
    }),
  );
  // First: who finds them open waits for nothing, and one that a failover takes back before is no loss that is told.
  if (found !== 'open') await confirmEverywhere(store, since);
  await finish(store, workspace);
  return areLost.filter(Boolean).length;
}

/** They may have been ended meanwhile, or the workspace deleted, while this process stood still. */
async function finish(store: Store, workspace: Workspace): Promise<void> {
  const { eventMarks: marks, webhooks } = workspaceKeys(store.space, workspace);
  if (!(await finishStep(store, { marks, webhooks }))) await clearAway(store, workspace);
}

/** In a Cluster a failover may lose that alone. Its node may be away: the events service mends it, too. */
async function mendPlaceOnList(store: Store, workspace: Workspace): Promise<void> {
  await putOnList(store, workspace).catch(unlessRedisIsAway);
  await finish(store, workspace);
}

async function putOnList(store: Store, workspace: Workspace): Promise<void> {
  await writeAlways(store, 'SADD', eventWorkspacesKey(store.space), workspace);
}

/** @public Tests look at it. */
export async function listEventWorkspaces(store: Store): Promise<Workspace[]> {
  return store.redis.smembers(eventWorkspacesKey(store.space));
}

const readListed = lastKnown(listEventWorkspaces);

/**
 * The same, or as it was read last while the node of a Cluster that has the list is away; where it never was, all workspaces: most have
 * events when any has.
 */
export async function knownEventWorkspaces(store: Store): Promise<{ workspaces: Workspace[]; isCurrent: boolean }> {
  const { value, isCurrent } = await readListed(store);
  return { workspaces: value ?? (await listWorkspaces(store)).map(({ name }) => name), isCurrent };
}
