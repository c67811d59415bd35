import { DEFAULT_WORKSPACE, isWorkspaceName, type Workspace } from '@gateway/contracts/ids';
import { deletedWorkspacesKey, workspaceKeys, workspacesKey } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { unlessRedisIsAway } from '@gateway/runtime/redis/is-redis-away';
import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import { type Store, writeAlways } from '../core/store.js';

export interface WorkspaceEntry {
  name: Workspace;
  /** Absent for `default`, which is there from the start. */
  createdAtMs?: number;
}

/** Makes a workspace. `false` when there is one of that name, or one is being deleted. Throws for what is no name. */
export async function createWorkspace(store: Store, name: Workspace, madeAtMs = systemClock.nowMs()): Promise<boolean> {
  // It goes into keys, and from there into patterns.
  if (!isWorkspaceName(name)) throw new Error(`not a name of a workspace: ${name}`);
  if (name === DEFAULT_WORKSPACE) return false;
  if (await store.redis.sismember(deletedWorkspacesKey(store.space), name)) return false;
  return (await writeAlways(store, 'HSETNX', workspacesKey(store.space), name, madeAtMs)) === 1;
}

/** While the node of a Cluster that lists them is away, one is there that has tokens or devices; of another it cannot be said. */
export async function hasWorkspace(store: Store, name: Workspace): Promise<boolean> {
  if (name === DEFAULT_WORKSPACE) return true;
  try {
    return (await store.redis.hexists(workspacesKey(store.space), name)) === 1;
  } catch (thrown) {
    unlessRedisIsAway(thrown);
    const { tokens, devices } = workspaceKeys(store.space, name);
    if (isCluster(store.redis) && (await store.redis.exists(tokens, devices)) > 0) return true;
    throw thrown;
  }
}

/** All of them, `default` first, then by name. */
export async function listWorkspaces(store: Store): Promise<WorkspaceEntry[]> {
  const made = Object.entries(await store.redis.hgetall(workspacesKey(store.space)));
  const entries = made.map(([name, createdAtMs]) => ({ name, createdAtMs: Number(createdAtMs) }));
  return [{ name: DEFAULT_WORKSPACE }, ...entries.sort((a, b) => (a.name < b.name ? -1 : 1))];
}
