import type { GatewayError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import { Lifecycle } from '@gateway/runtime/process/lifecycle';
import { startProcessHost } from '@gateway/runtime/process/process-host';
import type { RedisClients } from '@gateway/runtime/redis/redis-clients';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { expect } from 'chai';

const WITHIN = { everyMs: 100 };
const READY = { ready: true, checks: { start: 'ok', confirms: 'ok' } };
const KEY = 'gw:{#0}:key';
/** Longer than a Cluster tries to do what a `CLUSTER FAILOVER` says. */
const ORDER_MS = 6_000;
const logger = { ...createLogger({ service: 'test', level: 'error' }), warn: () => {} };

describe('promises while a master of a Cluster is replaced', () => {
  const lifecycle = new Lifecycle({ logger });
  let cluster: RedisCluster;
  let clients: RedisClients<'commands' | 'failFast' | 'confirms'>;
  let confirm: () => Promise<void>;
  let readiness: () => Promise<object>;

  before(async () => {
    cluster = await startRedisCluster({ replicas: 1 });
    const config = {
      ...{ REDIS_URL: cluster.url, REDIS_WAIT_REPLICAS: 1, REDIS_WITHOUT_AOF: false },
      ...{ KEY_PREFIX: 'gw', CONTENT_KEYS: [], LOG_LEVEL: 'error' as const, OPS_HOST: '127.0.0.1', OPS_PORT: 0 },
    };
    const host = await startProcessHost<'commands' | 'failFast'>(lifecycle, {
      ...{ name: 'test', config, purposes: ['commands', 'failFast'] },
    });
    host.started();
    clients = host.clients as typeof clients;
    // It hears of another master by asking, or never: what it is told every five seconds would be a matter of luck here.
    (clients.confirms as unknown as { clearNodesRefreshInterval(): void }).clearNodesRefreshInterval();
    confirm = () => host.confirmWrites(clients.commands, KEY);
    readiness = async () => (await fetch(`http://127.0.0.1:${host.opsPort}/readyz`)).json() as Promise<object>;
  });
  beforeEach(async () => {
    // The connection that is asked about is there once something was written by it.
    await clients.commands.set(KEY, 'before');
    await eventually(() => confirm().then(() => true), WITHIN);
  });
  after(async () => {
    await lifecycle.stop();
    await cluster.stop();
  });

  /** The one that has the key, and the one that takes over. */
  function findShard(): [RedisProcess, RedisProcess] {
    const { port } = masterOfKey(clients.commands, KEY).options;
    const nodes = cluster.shards
      .map(({ master, replicas }) => [master, ...replicas])
      .find((each) => each.some((node) => node.port === port))!;
    return nodes.sort((a) => (a.port === port ? -1 : 1)) as [RedisProcess, RedisProcess];
  }

  it('are given at once by one that was made the master by command, which refuses no command of who asks for replicas', async () => {
    const [master, replica] = findShard();
    // Masters that have voted lately obey no order, and say nothing.
    await eventually(async () => {
      await askServer(replica.url, 'CLUSTER', 'FAILOVER');
      return eventually(() => isReplica(master), { ...WITHIN, timeoutMs: ORDER_MS });
    });
    await clients.commands.set(KEY, 'taken by the next one');
    await eventually(() => confirm().then(() => true), WITHIN);
    // Who writes for callers may not have heard of it yet.
    expect(await readiness()).to.deep.equal(READY);
    await eventually(() => clients.failFast.set(KEY, 'x'), WITHIN);
    expect(await readiness()).to.deep.equal(READY);
  });

  it('are not confirmed, which is all that is said, until the next one has a replica; the process is ready', async () => {
    const [master] = findShard();
    await master.kill();
    // By who waits for the next one, then by who has a caller.
    await clients.commands.set(KEY, 'taken by the next one');
    await eventually(() => clients.failFast.set(KEY, 'x'), WITHIN);
    expect(await readiness()).to.deep.equal(READY);
    const reasons = [await confirm().then(() => 'confirmed', codeOf)];
    expect(reasons).to.deep.equal(['not_confirmed']);
    master.restart();
    await eventually(async () => {
      await clients.commands.set(KEY, 'y');
      reasons.push(await confirm().then(() => 'confirmed', codeOf));
      return reasons.includes('confirmed');
    }, WITHIN);
    expect([...new Set(reasons)]).to.deep.equal(['not_confirmed', 'confirmed']);
  });
});

async function isReplica({ url }: RedisProcess): Promise<boolean> {
  return String(await askServer(url, 'ROLE')).startsWith('slave');
}

function codeOf(thrown: unknown): string {
  return (thrown as GatewayError).code;
}
