import { once } from 'node:events';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const SLOT = 0;

describe('a Redis Cluster whose nodes answer, and say that it is down', () => {
  let cluster: RedisCluster;
  let clients: RedisClients;
  before(async () => {
    cluster = await startRedisCluster({ masters: 1, settings: ['--cluster-require-full-coverage', 'yes'] });
  });
  afterEach(() => clients.close());
  after(() => cluster.stop());

  const ask = (...question: [string, ...(string | number)[]]) => askServer(cluster.shards[0]!.master.url, ...question);

  it('keeps no one waiting for a connection for ever, as BullMQ waits for that of its worker', async () => {
    clients = createRedisClients({ url: cluster.url, logger: silentLogger });
    await clients.waitForReady();
    const copy = clients.queue.duplicate();
    copy.on('error', () => {});
    try {
      await eventually(() => copy.status === 'ready');
      await ask('CLUSTER', 'DELSLOTS', SLOT);
      await eventually(async () => String(await ask('CLUSTER', 'INFO')).startsWith('cluster_state:fail'));
      const ended = once(copy, 'end');
      copy.disconnect();
      await ended;
      let outcome: unknown;
      const note = (settled: unknown) => {
        outcome = settled;
      };
      copy.connect().then(note, note);
      await eventually(() => outcome instanceof Error, { timeoutMs: 10_000, what: 'it says that it cannot connect' });
      await ask('CLUSTER', 'ADDSLOTS', SLOT);
      await eventually(() => copy.status === 'ready');
      expect(await copy.set('mine', 'x')).to.equal('OK');
    } finally {
      copy.disconnect();
    }
  });
});
