import type { Workspace } from '@gateway/contracts/ids';
import { tokenIndexKey, tokenIndexPartKey } from '@gateway/contracts/redis-keys';
import { type Store, writeAlways } from '../../core/store.js';

/**
 * The workspace of each token, which never changes. It is kept twice: whole in one key, which answers for many tokens at once, and in
 * parts, so that a node of a Cluster that is away hides only the tokens of its own.
 */
export async function noteWorkspaceOfToken(store: Store, keyId: string, workspace: Workspace): Promise<void> {
  await writeAlways(store, 'HSET', tokenIndexKey(store.space), keyId, workspace);
  await writeAlways(store, 'HSET', tokenIndexPartKey(store.space, keyId), keyId, workspace);
}

/** `undefined` if there is no such token. One command, and another one for what its part does not have. */
export async function findWorkspaceOfToken(store: Store, keyId: string): Promise<Workspace | undefined> {
  const { redis, space } = store;
  const inPart = await redis.hget(tokenIndexPartKey(space, keyId), keyId);
  if (inPart !== null) return inPart;
  const workspace = await redis.hget(tokenIndexKey(space), keyId);
  if (workspace === null) return undefined;
  await addToPart(store, keyId, workspace);
  return workspace;
}

/** The same of many, in one command while the node of the whole index is there. */
export async function findWorkspacesOfTokens(
  store: Store,
  keyIds: readonly string[],
): Promise<(Workspace | undefined)[]> {
  const { redis, space } = store;
  const found = await redis
    .hmget(tokenIndexKey(space), ...keyIds)
    .catch(() => Promise.all(keyIds.map((keyId) => redis.hget(tokenIndexPartKey(space, keyId), keyId))));
  return found.map((workspace) => workspace ?? undefined);
}

/** Of tokens that are there no more. */
export async function forgetWorkspacesOfTokens({ redis, space }: Store, keyIds: readonly string[]): Promise<void> {
  if (keyIds.length === 0) return;
  // First: who adds one to its part meanwhile looks here afterwards.
  await redis.hdel(tokenIndexKey(space), ...keyIds);
  await Promise.all(keyIds.map((keyId) => redis.hdel(tokenIndexPartKey(space, keyId), keyId)));
}

/** Of a token that was made before there were parts. */
async function addToPart(store: Store, keyId: string, workspace: Workspace): Promise<void> {
  const { redis, space } = store;
  const part = tokenIndexPartKey(space, keyId);
  await writeAlways(store, 'HSET', part, keyId, workspace);
  if ((await redis.hexists(tokenIndexKey(space), keyId)) === 0) await redis.hdel(part, keyId);
}
