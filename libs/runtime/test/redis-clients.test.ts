import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { systemClock } from '@gateway/runtime/clock';
import { toError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { refuseWrongSettings } from '@gateway/runtime/redis/redis-settings';
import { testRedisUrl } from '@gateway/testkit/config';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisProxy, startRedisProxy } from '@gateway/testkit/redis-proxy';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import { Cluster, Command } from 'ioredis';

const logger = createLogger({ service: 'test', level: 'error' });

/** Closes each connection as soon as it is made. `triedAtMs`: when that was. */
async function startClosingServer() {
  const triedAtMs: number[] = [];
  const server = createServer((socket) => {
    triedAtMs.push(systemClock.monotonicMs());
    socket.destroy();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { triedAtMs, address: `127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

const pausesBetween = (timesMs: readonly number[]) => timesMs.slice(1).map((atMs, i) => atMs - timesMs[i]!);

describe('Redis clients', () => {
  let clients: RedisClients | undefined;
  let proxy: RedisProxy | undefined;
  afterEach(async () => {
    await clients?.close();
    proxy?.close();
  });

  async function startBehindProxy() {
    proxy = await startRedisProxy(testRedisUrl());
    clients = createRedisClients({ url: proxy.url, logger });
    await clients.waitForReady();
    return { clients, proxy };
  }

  it('are ready when Redis answers, and stay closed', async () => {
    clients = createRedisClients({ url: testRedisUrl(), logger });
    await clients.waitForReady();
    expect(await clients.commands.ping()).to.equal('PONG');
    expect(await clients.failFast.ping()).to.equal('PONG');
    await clients.close();
    await clients.close();
    expect(clients.commands.status).to.equal('end');
  });

  it('say so when Redis is not there', async () => {
    clients = createRedisClients({ url: 'redis://127.0.0.1:1', logger });
    const failure = await clients.waitForReady(AbortSignal.timeout(50)).catch((error) => error);
    expect(failure).to.include({ code: 'redis_away' });
  });

  it('are asked for ever more rarely while nothing answers, in the end about once a second', async () => {
    const { triedAtMs, address, close } = await startClosingServer();
    const url = `redis://${address}`;
    const alone = createRedisClients({ url, logger: silentLogger, purposes: ['commands'] });
    try {
      await eventually(() => triedAtMs.length === 9);
      const pauses = pausesBetween(triedAtMs);
      // From 100 ms doubled each time, up to a second; by chance a quarter less or more.
      for (const [i, pauseMs] of pauses.entries()) expect(pauseMs).to.be.at.least(0.74 * Math.min(100 * 2 ** i, 1_000));
    } finally {
      await alone.close();
      close();
    }
  });

  it('of a Cluster are asked for in a fifth of a second each time: another node may answer at once', async () => {
    const { triedAtMs, address, close } = await startClosingServer();
    const url = `redis+cluster://${address}`;
    const alone = createRedisClients({ url, logger: silentLogger, purposes: ['commands'] });
    // One try may be several connections.
    const pauses = () => pausesBetween(triedAtMs).filter((pauseMs) => pauseMs > 50);
    try {
      await eventually(() => pauses().length >= 9);
      expect(Math.min(...pauses().slice(5))).to.be.within(140, 500);
    } finally {
      await alone.close();
      close();
    }
  });

  it('for callers fail in under 3 s when Redis freezes, and work again after it', async () => {
    const { clients, proxy } = await startBehindProxy();
    proxy.freeze();
    const ask = async () => {
      const startedMs = systemClock.monotonicMs();
      expect(await clients.failFast.get('a').catch((error: Error) => error)).to.be.instanceOf(Error);
      return systemClock.monotonicMs() - startedMs;
    };
    // What is asked while something else waits for its answer goes out later: it must not wait for both.
    const first = ask();
    await new Promise(setImmediate);
    const tookMs = await Promise.all([first, ask(), ask()]);
    expect(Math.max(...tookMs), `took ${tookMs}`).to.be.below(3_000);
    proxy.restore();
    expect(await eventually(() => clients.failFast.ping())).to.equal('PONG');
  });

  it('send what is asked in one turn of the event loop in one write, whatever it is', async () => {
    const { clients, proxy } = await startBehindProxy();
    for (const client of [clients.commands, clients.failFast]) {
      const before = proxy.sentPieces;
      const asked = Array.from({ length: 50 }, (_, i) => [
        client.set('a', String(i), 'PX', 1),
        client.sendCommand(new Command('eval', [`return ${i}`, 0])),
      ]);
      const answers = await Promise.all(asked.flat());
      expect(answers.filter((answer) => answer !== 'OK')).to.deep.equal(Array.from({ length: 50 }, (_, i) => i));
      expect(proxy.sentPieces - before).to.equal(1);
    }
  });

  it('come back when the library has given them up', async () => {
    clients = createRedisClients({ url: testRedisUrl(), logger });
    await clients.waitForReady();
    // As after a failover that was heard of at the wrong moment: it connects no more by itself.
    clients.failFast.disconnect();
    await eventually(() => clients!.failFast.status !== 'ready');
    expect(await eventually(() => clients!.failFast.ping())).to.equal('PONG');
  });

  it('take the subscriber along from a server that has become a replica, to where a proxy leads them', async () => {
    const [before, present] = [await RedisProcess.start(), await RedisProcess.start()];
    try {
      proxy = await startRedisProxy(before.url);
      clients = createRedisClients({ url: proxy.url, logger });
      await clients.waitForReady();
      const { subscriber, commands, failFast } = clients;
      const heard: string[] = [];
      subscriber.on('message', (_channel, text) => heard.push(text));
      await subscriber.subscribe('bells');
      // Of a master that it never reaches, so that it hears nothing of what is published elsewhere.
      await failFast.replicaof('127.0.0.1', 1);
      proxy.lead(present.url);
      await commands.set('written', 'there');
      await eventually(async () => (await commands.publish('bells', 'news')) > 0);
      await eventually(() => heard.length > 0);
    } finally {
      await clients?.close();
      await Promise.all([before.stop(), present.stop()]);
    }
  });

  it('for workers wait through a lost connection', async () => {
    const { clients } = await startBehindProxy();
    clients.commands.disconnect(true);
    expect(await clients.commands.ping()).to.equal('PONG');
  });
});

describe('refuseWrongSettings', () => {
  /** What it says against a Redis that describes itself like this. */
  const check = async (info: string) => {
    const refusal = await refuseWrongSettings({ info: async () => info } as never).catch(toError);
    return refusal instanceof Error ? refusal.message : undefined;
  };

  it('is content with a Redis that keeps what it is given', async () => {
    expect(await check('redis_version:7.0.15\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n')).to.equal(undefined);
  });

  it('names each setting that would lose messages', async () => {
    const refusal = await check('redis_version:6.0.16\r\nmaxmemory_policy:allkeys-lru\r\naof_enabled:0\r\n');
    expect(refusal?.split(';')).to.have.length(3);
    expect(refusal).to.include('6.0.16').and.to.include('allkeys-lru').and.to.include('appendonly');
  });

  it('wants a Cluster to be called one: through one address only a part of its keys could be reached', async () => {
    const info = 'redis_version:7.2.4\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\ncluster_enabled:1\r\n';
    expect(await check(info)).to.include('redis+cluster://');
    expect(await check(info.replace('cluster_enabled:1', 'cluster_enabled:0'))).to.equal(undefined);
    const node = { info: async () => info, options: { host: '10.0.0.1', port: 7000 } };
    const cluster = Object.assign(Object.create(Cluster.prototype), { nodes: () => [node] });
    expect(await refuseWrongSettings(cluster as never)).to.deep.equal([]);
  });

  it('starts without an append-only file where the operator wants it, and warns', async () => {
    const info = 'redis_version:7.2.4\r\nmaxmemory_policy:noeviction\r\naof_enabled:0\r\n';
    const client = { info: async () => info } as never;
    const doubts = await refuseWrongSettings(client, { withoutAof: true });
    expect(doubts).to.deep.equal(['appendonly is off, must be on: a restart would lose accepted messages']);
    const evicting = { info: async () => info.replace('noeviction', 'allkeys-lru') } as never;
    expect(await refuseWrongSettings(evicting, { withoutAof: true }).catch(toError)).to.include({
      code: 'redis_settings',
    });
  });

  it('warns when nearly all connections are taken', async () => {
    const settings = 'redis_version:7.2.4\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n';
    const doubtsAt = (connected: number) =>
      refuseWrongSettings({ info: async () => `${settings}connected_clients:${connected}\r\nmaxclients:100` } as never);
    expect(await doubtsAt(79)).to.deep.equal([]);
    expect(await doubtsAt(80)).to.deep.equal([
      'maxclients is 100, and 80 are connected: beyond it processes cannot start',
    ]);
  });

  it('wants 7.0, whose scripts can run on when it is full', async () => {
    const versionIsFine = async (version: string) =>
      (await check(`redis_version:${version}\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n`)) === undefined;
    expect(await versionIsFine('6.2.14')).to.equal(false);
    expect(await versionIsFine('7.0.0')).to.equal(true);
    expect(await versionIsFine('8.2.1')).to.equal(true);
  });

  it('goes on without the node of a Cluster that is away, and says so', async () => {
    const fine = async () => 'redis_version:7.2.4\r\nmaxmemory_policy:noeviction\r\naof_enabled:1\r\n';
    const fail = async () => Promise.reject(new Error('Connection is closed.'));
    const clusterOf = (...infos: (() => Promise<string>)[]) => {
      const nodes = infos.map((info, i) => ({ info, options: { host: '10.0.0.1', port: 7000 + i } }));
      return Object.assign(Object.create(Cluster.prototype), { nodes: () => nodes }) as never;
    };
    expect(await refuseWrongSettings(clusterOf(fine, fail))).to.deep.equal([
      '10.0.0.1:7001 does not answer, and its settings are not known',
    ]);
    const evicting = async () => (await fine()).replace('noeviction', 'allkeys-lru');
    expect(await refuseWrongSettings(clusterOf(evicting, fail)).catch(toError)).to.include({ code: 'redis_settings' });
    expect(await refuseWrongSettings(clusterOf(fail, fail)).catch(toError)).to.include({
      message: 'Connection is closed.',
    });
  });

  it('finds nothing wrong with the Redis of the tests', async () => {
    const clients = createRedisClients({ url: testRedisUrl(), logger });
    await clients.waitForReady();
    await refuseWrongSettings(clients.commands);
    await clients.close();
  });
});
