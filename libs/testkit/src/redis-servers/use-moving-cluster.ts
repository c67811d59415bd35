import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { openRedisSpace, type RedisSpace } from '../redis-space.js';
import { beginMove } from './move-slot.js';
import { type RedisCluster, startRedisCluster } from './redis-cluster.js';
import type { RedisProcess } from './redis-process.js';

export interface MovingCluster {
  readonly cluster: RedisCluster;
  /** Of each test its own. */
  readonly space: RedisSpace;
  masterOf(key: string): RedisProcess;
  /** Begins to move the slot of a key: see `beginMove`. The test ends with its end, at the latest. */
  move(key: string, how: { to: RedisProcess; goes?: (key: string) => boolean }): Promise<void>;
  /** The slot has moved. */
  finish(): Promise<void>;
}

/** A Redis Cluster of three masters without replicas for the tests of one `describe`, in which slots move. */
export function useMovingCluster(): MovingCluster {
  const parts = {} as { cluster: RedisCluster; space: RedisSpace };
  let end = async () => {};
  before(async () => {
    parts.cluster = await startRedisCluster();
  });
  after(() => parts.cluster.stop());
  beforeEach(async () => {
    parts.space = await openRedisSpace({ url: parts.cluster.url });
  });
  const finish = async () => {
    await end();
    end = async () => {};
  };
  afterEach(async () => {
    await finish();
    await parts.space.close();
  });
  const masterOf = (key: string) => {
    const { port } = masterOfKey(parts.space.store.redis, key).options;
    return parts.cluster.shards.find(({ master }) => master.port === port)!.master;
  };
  const move: MovingCluster['move'] = async (key, how) => {
    end = await beginMove(parts.cluster, key, { from: masterOf(key), ...how });
  };
  return Object.assign(parts, { masterOf, move, finish });
}
