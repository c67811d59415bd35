import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';

const WITHIN = { everyMs: 100, timeoutMs: 40_000 };

describe('subscribers of a node of a Redis Cluster that is cut off from the others, and answers', () => {
  let cluster: RedisCluster;
  let clients: RedisClients<'subscriber'>;
  before(async () => {
    cluster = await startRedisCluster({ canBeCut: true });
    clients = createRedisClients({ url: cluster.url, logger, purposes: ['subscriber'] });
    await clients.waitForReady();
  });
  after(async () => {
    await clients.close();
    await cluster.stop();
  });

  it('go to another one, know that they may have missed something, and hear what comes', async () => {
    const { subscriber } = clients;
    const { remotePort } = subscriber.stream as { remotePort?: number };
    const masters = cluster.shards.map(({ master }) => master);
    const theirs = masters.find(({ port }) => port === remotePort)!;
    const other = masters.find((master) => master !== theirs)!;
    let told = 0;
    const heard = new Set<string>();
    subscriber.on('ready', () => told++);
    subscriber.on('message', (_channel, text) => heard.add(text));
    await subscriber.subscribe('bell');
    const heal = cluster.cutOff(theirs);
    try {
      await eventually(async () => {
        await askServer(other.url, 'PUBLISH', 'bell', 'ring');
        return told > 0 && heard.has('ring');
      }, WITHIN);
    } finally {
      heal();
    }
  });
});
