import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import type { Redis } from 'ioredis';

const WITHIN = { everyMs: 100, timeoutMs: 40_000 };

describe('clients of a Redis Cluster whose nodes were all replaced since they began', () => {
  let cluster: RedisCluster;
  let clients: RedisClients<'commands' | 'subscriber'>;
  let copy: Redis;
  before(async () => {
    cluster = await startRedisCluster({ replicas: 1 });
    const [{ master }] = cluster.shards as [RedisCluster['shards'][0]];
    const { username, password } = new URL(master.url);
    const url = `redis+cluster://${username}:${password}@127.0.0.1:${master.port}`;
    clients = createRedisClients({ url, logger, purposes: ['commands', 'subscriber'] });
    // As BullMQ does, to wait for jobs.
    copy = clients.commands.duplicate();
    copy.on('error', () => {});
    await clients.waitForReady();
    await clients.commands.set('{0}', 'before');
    await eventually(() => clients.commands.get('{0}'), WITHIN);
    await copy.get('{0}');
    await master.kill();
  });
  after(async () => {
    copy.disconnect();
    await clients.close();
    await cluster.stop();
  });

  it('hear what is published through those that there are', async () => {
    const heard = new Set<string>();
    clients.subscriber.on('message', (_channel, text) => heard.add(text));
    void clients.subscriber.subscribe('bell').catch(() => {});
    const [, { master }] = cluster.shards as [unknown, RedisCluster['shards'][0]];
    await eventually(async () => {
      await askServer(master.url, 'PUBLISH', 'bell', 'ring');
      return heard.has('ring');
    }, WITHIN);
  });

  for (const name of ['client', 'copy of one']) {
    it(`come back when all of their connections were lost: each ${name}`, async () => {
      const client = name === 'client' ? clients.commands : copy;
      await eventually(() => client.set('{0}', 'meanwhile'), WITHIN);
      // As the library does when no node answers.
      client.disconnect(true);
      const written = client.set('{0}', 'after');
      await eventually(() => client.status === 'ready', WITHIN);
      expect(await written).to.equal('OK');
    });
  }
});
