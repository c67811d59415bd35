import { DEFAULT_WORKSPACE, type Workspace } from './ids.js';
import {
  deletedWorkspacesKey,
  eventWorkspacesKey,
  type KeySpace,
  shardKeys,
  tokenIndexKeys,
  workspaceKeys,
  workspacesKey,
} from './redis-keys.js';
import { SHARDS } from './shards.js';

/**
 * What a workspace has in a key: all of it, entries that begin with `workspace/`, entries that consist of its name or lead to it, or
 * nothing.
 */
export type PartOfKey = 'whole' | 'places' | 'names' | 'nothing';

/**
 * Tells for every key of an installation what a workspace has in it. Derived from the names of keys, so that a new one belongs to
 * its workspace without being listed here: it lies under the tag of the workspace, or in a shard under `workspace/device` or as a
 * function of the workspace in `shardKeys`.
 */
export function partsOfWorkspace(space: KeySpace, workspace: Workspace): (key: string) => PartOfKey {
  const own = [tagOf(workspaceKeys(space, workspace).devices)];
  for (let shard = 0; shard < SHARDS; shard++) {
    const { base, ...keys } = shardKeys(space, shard);
    own.push(`${base}${workspace}/`);
    for (const key of Object.values(keys)) if (typeof key === 'function') own.push(key(workspace));
  }
  const byTag = new Map<string, string[]>();
  for (const beginning of own) byTag.set(tagOf(beginning), [...(byTag.get(tagOf(beginning)) ?? []), beginning]);
  const begins = (key: string, beginning: string) =>
    key.startsWith(beginning) &&
    (/[/}]$/.test(beginning) || key.length === beginning.length || key[beginning.length] === ':');
  const named = [
    workspacesKey(space),
    deletedWorkspacesKey(space),
    ...tokenIndexKeys(space),
    eventWorkspacesKey(space),
  ];
  const tagged = `${space.prefix}:{`;
  return (key) => {
    if (named.includes(key)) return 'names';
    if (byTag.get(tagOf(key))?.some((beginning) => begins(key, beginning))) return 'whole';
    // Of another device or workspace: what stands there is its own.
    return key.startsWith(tagged) && SHARED_IN_SHARD.test(key.slice(tagged.length)) ? 'places' : 'nothing';
  };
}

/** One that must not go: it is there from the start, and made again by every call. */
export function isPermanent(workspace: Workspace): boolean {
  return workspace === DEFAULT_WORKSPACE;
}

/** After `prefix:{`: of a shard, and of no device of it. */
const SHARED_IN_SHARD = /^#\d+\}:[^/]*$/;

/** With what stands before it. */
function tagOf(key: string): string {
  return /^[^{]*\{[^}]*\}/.exec(key)?.[0] ?? '';
}
