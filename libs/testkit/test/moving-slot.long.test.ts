import { toError } from '@gateway/runtime/errors';
import { confirmByReplicas } from '@gateway/runtime/redis/confirm-writes';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
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
      const slot = Number(await clients.commands.cluster('KEYSLOT', KEY));
      const parts = await Promise.all(
        cluster.shards.map(async ({ master, replicas }) => ({
          ...{ master, replicas, id: String(await askServer(master.url, 'CLUSTER', 'MYID')) },
          hasSlot: Number(await askServer(master.url, 'CLUSTER', 'COUNTKEYSINSLOT', slot)) > 0,
        })),
      );
      const from = parts.find(({ hasSlot }) => hasSlot)!;
      const to = parts.find(({ hasSlot }) => !hasSlot)!;
      await askServer(to.master.url, 'CLUSTER', 'SETSLOT', slot, 'IMPORTING', from.id);
      await askServer(from.master.url, 'CLUSTER', 'SETSLOT', slot, 'MIGRATING', to.id);
      for (const replica of to.replicas) replica.freeze();
      expect(await promise(`${KEY}:new`)).to.have.property('code', 'not_confirmed');
      for (const replica of to.replicas) replica.thaw();
      for (const { url } of [to.master, from.master]) await askServer(url, 'CLUSTER', 'SETSLOT', slot, 'NODE', to.id);
      await eventually(async () => (await promise(`${KEY}:new`)) === undefined, WITHIN);
    } finally {
      stop();
    }
  });
});
