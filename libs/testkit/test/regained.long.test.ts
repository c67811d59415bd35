import { onRegained } from '@gateway/runtime/redis/on-regained';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { masterNodes } from '@gateway/runtime/redis/redis-nodes';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const KEY = 'gw:{#0}:key';
const portOf = ({ url }: RedisProcess) => new URL(url).port;

describe('who writes to a master of a Cluster', () => {
  let cluster: RedisCluster;
  let clients: RedisClients<'commands'>;
  before(async () => {
    cluster = await startRedisCluster({ replicas: 1 });
    clients = createRedisClients({ url: cluster.url, logger, purposes: ['commands'] });
    await clients.waitForReady();
  });
  after(async () => {
    await clients.close();
    await cluster.stop();
  });

  it('hears each time that another node is the master, also of one that it is connected to, and of one that was lost', async () => {
    const { commands } = clients;
    await commands.set(KEY, 'x');
    let times = 0;
    const stop = onRegained(commands, () => void times++);
    const [shard] = cluster.shards;
    const [one, other] = [shard!.master, shard!.replicas[0]!];
    const isMaster = async ({ url }: RedisProcess) => ((await askServer(url, 'ROLE')) as unknown[])[0] === 'master';
    // Before the next order: a change and its return between two looks of the client would be none.
    const isKnownMaster = (node: RedisProcess) => {
      const ports = masterNodes(commands).map(({ options: { port } }) => `${port}`);
      return ports.includes(portOf(node)) && !ports.includes(portOf(node === one ? other : one));
    };
    // The others vote for a shard once in two of their timeouts: an order that comes sooner is accepted, and ends after 5 s.
    const order = async (node: RedisProcess) => {
      await askServer(node.url, 'CLUSTER', 'FAILOVER');
      return eventually(() => isMaster(node), { timeoutMs: 6_000, everyMs: 100, what: 'the order' });
    };
    const becomesMaster = async (node: RedisProcess) => {
      const before = times;
      await eventually(async () => (await isMaster(node)) || order(node), { everyMs: 100 });
      const isHeard = async () => (await commands.set(KEY, 'x')) === 'OK' && times > before && isKnownMaster(node);
      await eventually(isHeard, { everyMs: 100 });
    };
    // Both are connected from the second time on.
    for (const node of [other, one, other, one]) await becomesMaster(node);
    const before = times;
    await one.kill();
    await eventually(async () => (await commands.set(KEY, 'x')) === 'OK' && times > before, { everyMs: 100 });
    stop();
    const after = times;
    one.restart();
    await eventually(() => cluster.agree(), { everyMs: 100 });
    expect(times).to.equal(after);
  });
});
