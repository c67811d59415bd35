import { inTime } from '@gateway/runtime/clock';
import { unlessRedisIsAway } from '@gateway/runtime/redis/is-redis-away';
import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import type { Redis } from 'ioredis';
import type { Store } from '../store.js';

/** A node of a Cluster that has not answered by then counts as away. */
const ANSWER_MS = 300;

export interface Known<Value> {
  /** `undefined`: it was never read by this connection, and cannot be now. */
  value: Value | undefined;
  /** Whether Redis has just said so. */
  isCurrent: boolean;
}

/**
 * Makes a function that reads what the whole installation asks of one node of a Cluster. While that node is away it answers what was read
 * last: what lies on other nodes does not wait for it. On a single Redis it reads, whatever comes of it.
 */
export function lastKnown<Value>(read: (store: Store) => Promise<Value>): (store: Store) => Promise<Known<Value>> {
  const known = new WeakMap<Redis, { value?: Value; late?: Promise<Value> }>();
  return async (store) => {
    const { redis } = store;
    if (!isCluster(redis)) return { value: await read(store), isCurrent: true };
    const last = known.get(redis) ?? {};
    known.set(redis, last);
    // A connection that waits for Redis asks once, not again and again: each question would be tried for as long as the node is away.
    const asked = last.late ?? read(store);
    const kept = asked.then((value) => {
      last.value = value;
      return value;
    });
    if (await inTime(kept, ANSWER_MS).catch(unlessRedisIsAway)) return { value: await kept, isCurrent: true };
    if (!last.late) {
      last.late = asked;
      const forget = () => {
        delete last.late;
      };
      asked.then(forget, forget);
    }
    return { value: last.value, isCurrent: false };
  };
}
