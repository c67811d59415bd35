import {
  eventWorkspacesKey,
  outboxChannel,
  shardKeys,
  workspaceKeys,
  workspacesKey,
} from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import { addEventsMetrics } from '@gateway/events/events-metrics';
import { Relay } from '@gateway/events/relay/relay';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { masterNodes, masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { openEvents } from '@gateway/store/events/open-events';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const ENTRY = Buffer.from([1, 0, 0, 0, 0, 0, 0, 1, 0]);
const WITHIN = { everyMs: 100, timeoutMs: 20_000 };

describe('a relay without the node of a Redis Cluster that lists the workspaces with events', () => {
  let cluster: RedisCluster;
  let space: RedisSpace;
  let relay: Relay | undefined;
  let workspace: string;
  let shard: number;
  let outbox: string;
  let lost: RedisProcess;
  before(async () => {
    cluster = await startRedisCluster();
  });
  after(() => cluster.stop());
  beforeEach(async () => {
    for (;;) {
      space = await openRedisSpace({ url: cluster.url });
      if (!isLost(workspacesKey(space.store.space))) break;
      await space.close();
    }
    const { store } = space;
    const names = Array.from({ length: 100 }, (_, i) => `shop-${i}`);
    workspace = names.find((name) => !isLost(workspaceKeys(store.space, name).devices))!;
    await createWorkspace(store, workspace);
    await openEvents(store, workspace);
    const outboxes = Array.from({ length: SHARDS }, (_, i) => shardKeys(store.space, i).outbox(workspace));
    shard = outboxes.findIndex((key) => !isLost(key));
    outbox = outboxes[shard]!;
    const { port } = masterOfKey(store.redis, eventWorkspacesKey(store.space)).options;
    lost = cluster.shards.find(({ master }) => master.port === port)!.master;
  });
  afterEach(async () => {
    lost.restart();
    await eventually(async () => (await cluster.agree()) && masterNodes(space.store.redis).length === 3, WITHIN);
    await relay?.stop();
    await space.close();
  });

  const isLost = (key: string) => {
    const { redis, space: keys } = space.store;
    return masterOfKey(redis, key) === masterOfKey(redis, eventWorkspacesKey(keys));
  };
  const start = async () => {
    const metrics = addEventsMetrics(createMetrics());
    const { store, clients } = space;
    relay = await Relay.start({ store, bells: clients.subscriber, tickMs: 200, metrics, logger });
  };
  /** Without a bell. */
  const write = () => space.store.redis.xadd(outbox, '*', 'e', ENTRY);
  const untilRelayed = () => eventually(async () => (await space.store.redis.xlen(outbox)) === 0, WITHIN);

  it('finds what no bell told it of, as before', async () => {
    await start();
    await write();
    await untilRelayed();
    await lost.kill();
    await write();
    await untilRelayed();
  });

  it('finds it, too, when it has never read that list', async () => {
    await write();
    await lost.kill();
    await start();
    await untilRelayed();
  });

  it('finds what rang while it had to listen at another node', async () => {
    const { subscriber } = space.clients;
    await eventually(() => {
      if (subscriber.status !== 'ready') return false;
      if (subscriber.stream.remotePort === lost.port) return true;
      subscriber.disconnect(true);
      return false;
    }, WITHIN);
    await start();
    await write();
    await untilRelayed();
    await lost.kill();
    await write();
    const { redis, space: keys } = space.store;
    const heard = await masterOfKey(redis, outbox).publish(outboxChannel(keys), `${workspace}/${shard}`);
    expect(heard).to.equal(0);
    await untilRelayed();
  });
});
