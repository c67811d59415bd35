import { toError } from '@gateway/runtime/errors';
import { confirmByReplicas } from '@gateway/runtime/redis/confirm-writes';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { beginMove } from '@gateway/testkit/redis-servers/move-slot';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const KEY = 'gw:{#0}:key';
const WITHIN = { everyMs: 100 };

describe('a promise in a slot that moves to another master', () => {
  let cluster: RedisCluster;
  let clients: RedisClients<'commands' | 'confirms'>;
  before(async () => {
    cluster = await startRedisCluster({ replicas: 1 });
    clients = createRedisClients({ url: cluster.url, logger, purposes: ['commands', 'confirms'] });
    await clients.waitForReady();
  });
  after(async () => {
    await clients.close();
    await cluster.stop();
  });

  it('is not given for what the next master took, by the replicas of the one before', async () => {
    const { confirm, stop } = confirmByReplicas(clients.confirms, 1);
    const promise = async (key: string) => {
      await clients.commands.set(key, 'x');
      return confirm(clients.commands, key).catch(toError);
    };
    try {
      await eventually(async () => (await promise(KEY)) === undefined, WITHIN);
      const slot = await clients.commands.cluster('KEYSLOT', KEY);
      const keys = await Promise.all(
        cluster.shards.map(({ master }) => askServer(master.url, 'CLUSTER', 'COUNTKEYSINSLOT', slot)),
      );
      const from = cluster.shards.find((_shard, index) => Number(keys[index]) > 0)!;
      const to = cluster.shards.find((_shard, index) => Number(keys[index]) === 0)!;
      const endMove = await beginMove(cluster, KEY, { from: from.master, to: to.master });
      for (const replica of to.replicas) replica.freeze();
      expect(await promise(`${KEY}:new`)).to.have.property('code', 'not_confirmed');
      for (const replica of to.replicas) replica.thaw();
      await endMove();
      await eventually(async () => (await promise(`${KEY}:new`)) === undefined, WITHIN);
    } finally {
      stop();
    }
  });
});
