import type { Workspace } from '@gateway/contracts/ids';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { type Store, writeAlways } from '../core/store.js';

/**
 * What an operator may allow a workspace: devices in its list, messages that wait, bytes of files, people whom callers put on its
 * list of opt-outs. Beside them the limits of the installation hold on; the lower one counts.
 */
export const WORKSPACE_LIMITS = ['devices', 'backlog', 'fileBytes', 'optOuts'] as const;
export type WorkspaceLimit = (typeof WORKSPACE_LIMITS)[number];
export type WorkspaceLimits = Partial<Record<WorkspaceLimit, number>>;

/** Those that were set. One command. */
export async function readWorkspaceLimits(store: Store, workspace: Workspace): Promise<WorkspaceLimits> {
  const found = await store.redis.hgetall(workspaceKeys(store.space, workspace).limits);
  return Object.fromEntries(
    WORKSPACE_LIMITS.flatMap((name) => (found[name] === undefined ? [] : [[name, Number(found[name])]])),
  );
}

/** Sets those that are given; `undefined` takes one away. What is there already stays, if it is more. Safe to repeat. */
export async function setWorkspaceLimits(
  store: Store,
  workspace: Workspace,
  limits: { [Name in WorkspaceLimit]?: number | undefined },
): Promise<void> {
  const key = workspaceKeys(store.space, workspace).limits;
  for (const [name, value] of Object.entries(limits)) {
    if (value === undefined) await store.redis.hdel(key, name);
    else await writeAlways(store, 'HSET', key, name, value);
  }
}
