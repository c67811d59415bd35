import { deviceOfName, type Workspace } from '@gateway/contracts/ids';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import type { Store } from '../../core/store.js';
import { readSendByTag } from '../read-send.js';
import type { FoundSend } from './list-sends.js';

export interface OverdueSends {
  /** As many as were looked at: no more than 100 of a shard. */
  count: number;
  /** The one that was promised first, and for when. */
  oldest: (FoundSend & { promisedMs: number }) | undefined;
}

const MOST_OF_SHARD = 100;

/** The open sends of a workspace whose last message was promised to have gone out before a time. A command for each shard. */
export async function findOverdue(store: Store, workspace: Workspace, beforeMs: number): Promise<OverdueSends> {
  const { redis, space } = store;
  const shards = await Promise.all(
    Array.from({ length: SHARDS }, (_, shard) =>
      redis.zrangebyscore(
        shardKeys(space, shard).promised,
        '-inf',
        `(${beforeMs}`,
        'WITHSCORES',
        'LIMIT',
        0,
        MOST_OF_SHARD,
      ),
    ),
  );
  const overdue = shards
    .flatMap((flat) => flat.flatMap((name, i) => (i % 2 === 0 ? [{ name, promisedMs: Number(flat[i + 1]) }] : [])))
    .filter(({ name }) => name.startsWith(`${workspace}/`))
    .sort((one, other) => one.promisedMs - other.promisedMs);
  for (const { name, promisedMs } of overdue) {
    const [, device = '', tag = ''] = name.split('/');
    const address = deviceOfName(`${workspace}/${device}`);
    const send = await readSendByTag(store, address, tag);
    if (send) return { count: overdue.length, oldest: { address, send, promisedMs } };
  }
  return { count: 0, oldest: undefined };
}
