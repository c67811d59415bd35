import { toError } from '@gateway/runtime/errors';
import { isRedisAway } from '@gateway/runtime/redis/is-redis-away';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const KEY = 'key';

/** A server that others work with: of a Cluster the one that has the key. */
interface Server {
  kill(): Promise<void>;
  restart(): void;
}

describe('Redis connections of a process that starts', () => {
  async function expectWaitsAtFirst(url: string, serverAt: (port: number) => Server): Promise<void> {
    const clients = createRedisClients({ url, logger: silentLogger, purposes: ['failFast'], waitAtFirst: true });
    const { failFast } = clients;
    try {
      await clients.waitForReady();
      const server = serverAt(masterOfKey(failFast, KEY).options.port!);
      await server.kill();
      const written = failFast.set(KEY, 'there');
      server.restart();
      expect(await written).to.equal('OK');
      clients.failFastFromNow();
      expect(await failFast.get(KEY)).to.equal('there');
      await server.kill();
      const failure = await failFast.get(KEY).catch(toError);
      expect(failure).to.satisfy((thrown: unknown) => thrown instanceof Error && isRedisAway(thrown));
    } finally {
      await clients.close();
    }
  }

  it('wait for a server that is away, and fail soon once callers come', async () => {
    const redis = await RedisProcess.start({ settings: ['--appendonly', 'yes'] });
    try {
      await expectWaitsAtFirst(redis.url, () => redis);
    } finally {
      await redis.stop();
    }
  });

  it('wait for a master of a Cluster that is away, and fail soon once callers come', async () => {
    const cluster = await startRedisCluster();
    try {
      const serverAt = (port: number) => cluster.shards.find(({ master }) => master.port === port)!.master;
      await expectWaitsAtFirst(cluster.url, serverAt);
    } finally {
      await cluster.stop();
    }
  });
});
