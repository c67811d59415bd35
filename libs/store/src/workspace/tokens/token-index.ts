import type { Workspace } from '@gateway/contracts/ids';
import { tokenIndexKey, tokenIndexPartKey } from '@gateway/contracts/redis-keys';
import { inTime } from '@gateway/runtime/clock';
import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import { type Store, writeAlways } from '../../core/store.js';

/**
 * The workspace of each token, which never changes. It is kept twice: whole in one key, which answers for many tokens at once, and in
 * parts, so that a node of a Cluster that is away hides no token of the others: what a part lacks, the whole index has.
 */
export async function noteWorkspaceOfToken(store: Store, keyId: string, workspace: Workspace): Promise<void> {
  await writeAlways(store, 'HSET', tokenIndexKey(store.space), keyId, workspace);
  await addToPart(store, keyId, workspace);
}

/** Of a node that hangs: so long a token waits for its part. */
const PART_MS = 300;

/** `undefined` if there is no such token. One command, and another one for what its part does not have, or does not say in time. */
export async function findWorkspaceOfToken(store: Store, keyId: string): Promise<Workspace | undefined> {
  const { redis, space } = store;
  const part = redis.hget(tokenIndexPartKey(space, keyId), keyId).catch((away: Error) => away);
  const isThere = !isCluster(redis) || (await inTime(part, PART_MS));
  const inPart = isThere ? await part : undefined;
  if (typeof inPart === 'string') return inPart;
  const workspace = await redis.hget(tokenIndexKey(space), keyId);
  if (workspace !== null) {
    if (inPart === null) await addToPart(store, keyId, workspace);
    return workspace;
  }
  const late = await part;
  if (late instanceof Error) throw late;
  return late ?? undefined;
}

/** The same of each of many: in one command, and while the node of the whole index is away in one for each part. */
export function findWorkspacesOfTokens(
  store: Store,
  keyIds: readonly string[],
): readonly Promise<Workspace | undefined>[] {
  const { redis, space } = store;
  const whole = redis.hmget(tokenIndexKey(space), ...keyIds);
  const parts = new Map<string, Promise<(string | null)[]>>();
  const findInPart = async (keyId: string) => {
    const part = tokenIndexPartKey(space, keyId);
    const ofPart = keyIds.filter((each) => tokenIndexPartKey(space, each) === part);
    const answers = parts.get(part) ?? redis.hmget(part, ...ofPart);
    parts.set(part, answers);
    return (await answers)[ofPart.indexOf(keyId)];
  };
  return keyIds.map(async (keyId, i) => {
    const workspace = await whole.then(
      (found) => found[i],
      (away: Error) => {
        if (!isCluster(redis)) throw away;
        return findInPart(keyId);
      },
    );
    return workspace ?? undefined;
  });
}

/** Of tokens that are there no more. */
export async function forgetWorkspacesOfTokens({ redis, space }: Store, keyIds: readonly string[]): Promise<void> {
  if (keyIds.length === 0) return;
  // First: an addition to a part looks here when it is done.
  await redis.hdel(tokenIndexKey(space), ...keyIds);
  await Promise.all(keyIds.map((keyId) => redis.hdel(tokenIndexPartKey(space, keyId), keyId)));
}

/** Also one that was made before there were parts. Where its node is away, or takes no writes, it stays in the whole index alone. */
async function addToPart(store: Store, keyId: string, workspace: Workspace): Promise<void> {
  const { redis, space } = store;
  const part = tokenIndexPartKey(space, keyId);
  try {
    await writeAlways(store, 'HSET', part, keyId, workspace);
    if ((await redis.hexists(tokenIndexKey(space), keyId)) === 0) await redis.hdel(part, keyId);
  } catch {
    // The next lookup tries again.
  }
}
