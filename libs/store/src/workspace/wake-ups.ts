import type { Workspace } from '@gateway/contracts/ids';
import { type KeySpace, queuePrefix } from '@gateway/contracts/redis-keys';
import { scanKeys } from '@gateway/runtime/redis/scan-keys';
import type { Store } from '../core/store.js';

const KEYS_AT_ONCE = 500;

/** Whether a key is of the queue of a sender. */
export function isOfQueue(space: KeySpace, key: string): boolean {
  return key.startsWith(`${queuePrefix(space)}:`);
}

/** Whether a key of a queue is a job that wakes its sender for a send of this workspace, and perhaps for others. */
export async function isWakeUpOf({ redis }: Store, workspace: Workspace, key: string): Promise<boolean> {
  if ((await redis.type(key)) !== 'hash') return false;
  const job = await redis.hget(key, 'data');
  return job?.includes(`"workspace":"${workspace}"`) ?? false;
}

/** Also where its queue names it. Senders find the sends of others that it may be for without it, a little later. */
export async function removeWakeUp({ redis }: Store, key: string): Promise<void> {
  const end = key.lastIndexOf(':');
  const [queue, id] = [key.slice(0, end), key.slice(end + 1)];
  await Promise.all([redis.unlink(key), redis.zrem(`${queue}:prioritized`, id), redis.lrem(`${queue}:active`, 0, id)]);
}

/** What queues tell of their jobs: it names sends also when these are long over, and nothing reads it. Throws when it may have missed some: no other scan finds them. */
export async function removeJobEvents({ redis, space }: Store): Promise<void> {
  for await (const keys of scanKeys(redis, { match: `${queuePrefix(space)}:*:events`, count: KEYS_AT_ONCE })) {
    await Promise.all(keys.map((key) => redis.unlink(key)));
  }
}
