import { toError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { startProcessHost } from '@gateway/runtime/process/process-host';
import { confirmByReplicas } from '@gateway/runtime/redis/confirm-writes';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { masterNodes } from '@gateway/runtime/redis/redis-nodes';
import { confirmEverywhere, connectToAll } from '@gateway/store/core/confirming/confirm-everywhere';
import { createStore } from '@gateway/store/core/store';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { expect } from 'chai';

const WITHIN = { everyMs: 100 };
const logger = { ...createLogger({ service: 'test', level: 'error' }), warn: () => {} };

describe('a Cluster with replicas that confirm', () => {
  const lifecycle = new Lifecycle({ logger });
  let servers: RedisCluster;

  before(async () => {
    servers = await startRedisCluster({ masters: 2, replicas: 1 });
  });
  after(async () => {
    await lifecycle.stop();
    await servers.stop();
  });

  async function openStore() {
    const clients = createRedisClients({ url: servers.url, logger, purposes: ['failFast', 'confirms'] });
    await clients.waitForReady();
    const { confirm: confirmWrites, stop } = confirmByReplicas(clients.confirms, 1);
    const store = createStore({
      ...{ redis: clients.failFast, space: { prefix: 'gw' }, keyRings: { credentials: [], contents: [] } },
      confirmWrites,
    });
    return { clients, store, stop };
  }

  it('confirms what all masters have, by a connection that has asked only one of them for anything', async () => {
    const { clients, store, stop } = await openStore();
    try {
      expect(masterNodes(clients.failFast).map(({ status }) => status)).to.include('wait');
      await eventually(() => confirmEverywhere(store).then(() => true), { ...WITHIN, timeoutMs: 10_000 });
    } finally {
      stop();
      await clients.close();
    }
  });

  it('confirms nothing of what was written to all masters while one of them was replaced, and all that comes after that', async () => {
    const { clients, store, stop } = await openStore();
    const [replica] = servers.shards[1]!.replicas;
    const isThere = () => masterNodes(clients.failFast).some(({ options: { port } }) => port === replica!.port);
    try {
      const since = await connectToAll(store);
      await eventually(() => confirmEverywhere(store, since).then(() => true), { ...WITHIN, timeoutMs: 10_000 });
      await askServer(replica!.url, 'CLUSTER', 'FAILOVER');
      await eventually(isThere, WITHIN);
      const after = await connectToAll(store);
      await eventually(() => confirmEverywhere(store, after).then(() => true), { ...WITHIN, timeoutMs: 20_000 });
      expect(await confirmEverywhere(store, since).catch(toError)).to.have.property('code', 'not_confirmed');
    } finally {
      stop();
      await clients.close();
    }
  });

  it('leaves its processes ready while a master hangs that none of them has asked for anything lately', async () => {
    const config = {
      ...{ REDIS_URL: servers.url, REDIS_WAIT_REPLICAS: 1, REDIS_WITHOUT_AOF: false },
      ...{ KEY_PREFIX: 'gw', CONTENT_KEYS: [], LOG_LEVEL: 'error' as const, OPS_HOST: '127.0.0.1', OPS_PORT: 0 },
    };
    const host = await startProcessHost<'failFast'>(lifecycle, { name: 'test', config, purposes: ['failFast'] });
    host.started();
    const { confirms } = host.clients as unknown as Record<'confirms', typeof host.clients.failFast>;
    const isReached = () => masterNodes(confirms).every(({ status }) => status === 'ready');
    await eventually(isReached, WITHIN);
    const { master, replicas } = servers.shards[0]!;
    for (const server of [...replicas, master]) server.freeze();
    try {
      await eventually(() => !isReached(), WITHIN);
      const response = await fetch(`http://127.0.0.1:${host.opsPort}/readyz`);
      expect(await response.json()).to.deep.equal({ ready: true, checks: { start: 'ok', confirms: 'ok' } });
    } finally {
      for (const server of [...replicas, master]) server.thaw();
    }
  });
});
