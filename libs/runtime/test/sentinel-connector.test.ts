import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { electionHeardAtMs, isNamedByMostSentinels } from '@gateway/runtime/redis/sentinels/sentinel-connector';
import { testRedisUrl } from '@gateway/testkit/config';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisProxy, startRedisProxy } from '@gateway/testkit/redis-proxy';
import { expect } from 'chai';
import { startToldSentinel, type ToldSentinel } from './fixtures/told-sentinel.js';

const logger = { ...createLogger({ service: 'test', level: 'error' }), warn: () => {} };

const WITHIN = { timeoutMs: 5_000 };

describe('a client of a master that a Sentinel names', () => {
  let masters: [RedisProxy, RedisProxy];
  let sentinel: ToldSentinel;
  let clients: RedisClients<'commands'>;
  beforeEach(async () => {
    masters = [await startRedisProxy(testRedisUrl()), await startRedisProxy(testRedisUrl())];
    sentinel = await startToldSentinel({ port: portOf(masters[0]), epoch: 1 });
  });
  afterEach(async () => {
    await clients.close();
    sentinel.close();
    for (const master of masters) master.close();
  });

  function countConnections(server: Server): Promise<number> {
    return new Promise((resolve, reject) =>
      server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
    );
  }

  const portOf = ({ url }: RedisProxy) => Number(new URL(url).port);
  const failOver = () => {
    sentinel.master = { port: portOf(masters[1]), epoch: 2 };
  };
  const isAt = (master: RedisProxy) => {
    const { remotePort } = clients.commands.stream as { remotePort?: number };
    return clients.commands.status === 'ready' && remotePort === portOf(master);
  };
  function urlOf(...sentinels: ToldSentinel[]): string {
    const { username, password, pathname } = new URL(testRedisUrl());
    const access = password ? `${username}:${password}@` : '';
    const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join();
    return `redis+sentinel://${access}${hosts}/gateway${pathname === '/' ? '' : pathname}`;
  }
  async function connect(url = urlOf(sentinel)) {
    clients = createRedisClients({ url, logger, purposes: ['commands'] });
    await clients.waitForReady();
  }

  it('follows a failover that it is not told of: it came between the answer about the master and the subscription', async () => {
    sentinel.onSubscribe = failOver;
    await connect();
    await eventually(() => isAt(masters[1]), WITHIN);
  });

  it('follows a failover that it is not told of: its connections to Sentinels were lost', async () => {
    await connect();
    await eventually(() => isAt(masters[0]), WITHIN);
    failOver();
    sentinel.drop();
    await eventually(() => isAt(masters[1]), WITHIN);
  });

  it('listens to a Sentinel that hangs as it is listened to again; neither that nor to be left meanwhile ends the process', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      await connect();
      await eventually(() => sentinel.asked > 1, WITHIN);
      sentinel.isDeaf = true;
      const { subscriptions } = sentinel;
      sentinel.drop();
      await eventually(() => sentinel.subscriptions > subscriptions + 1, WITHIN);
      failOver();
      sentinel.isDeaf = false;
      await eventually(() => isAt(masters[1]), WITHIN);
      sentinel.isDeaf = true;
      sentinel.drop();
      const { subscriptions: again } = sentinel;
      await eventually(() => sentinel.subscriptions > again, WITHIN);
      await clients.close();
      await sentinel.isLeft();
      await setImmediate();
      expect(unhandled).to.deep.equal([]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  it('stays with a Sentinel that tells, and closes the connections by which it is asked', async () => {
    await connect();
    await eventually(() => sentinel.asked > 1, WITHIN);
    sentinel.isMute = true;
    sentinel.drop();
    await eventually(() => sentinel.closed > 0, WITHIN);
    const { subscriptions, closed } = sentinel;
    // It is asked each time who the others are.
    for (const time of [1, 2, 3]) {
      sentinel.join(sentinel);
      await eventually(() => sentinel.closed >= closed + time, WITHIN);
    }
    expect(sentinel.subscriptions).to.equal(subscriptions);
  });

  it('knows of a failover that began while its connection to the Sentinel was lost, as long as that is under way', async () => {
    await connect();
    const { asked } = sentinel;
    sentinel.drop();
    await eventually(() => sentinel.asked > asked, WITHIN);
    expect(electionHeardAtMs(clients.commands), 'without one').to.equal(Number.NEGATIVE_INFINITY);
    sentinel.replacing = portOf(masters[0]);
    sentinel.drop();
    await eventually(() => electionHeardAtMs(clients.commands) > 0, WITHIN);
    expect(isAt(masters[0])).to.equal(true);
  });

  it('does not take the failover that made its master for one that replaces it', async () => {
    sentinel.replacing = portOf(masters[0]);
    failOver();
    await connect();
    await eventually(() => isAt(masters[1]), WITHIN);
    const { asked } = sentinel;
    sentinel.drop();
    await eventually(() => sentinel.asked > asked, WITHIN);
    expect(electionHeardAtMs(clients.commands)).to.equal(Number.NEGATIVE_INFINITY);
  });

  it('goes back to a master that was replaced where most Sentinels of today say so, and not most of all addresses it heard of', async () => {
    const gone = await Promise.all([0, 1].map(() => startToldSentinel(sentinel.master)));
    for (const { close } of gone) close();
    sentinel.others = gone.map(({ port }) => port);
    await connect();
    // They are forgotten there by now.
    sentinel.others = [];
    failOver();
    sentinel.drop();
    await eventually(() => isAt(masters[1]), WITHIN);
    sentinel.master = { port: portOf(masters[0]), epoch: 0 };
    masters[1].cut();
    await eventually(() => isAt(masters[0]), WITHIN);
  });

  it('goes by what most Sentinels of today say where these begin anew, also if there were more when it was connected', async () => {
    const gone = await Promise.all([0, 1].map(() => startToldSentinel(sentinel.master)));
    for (const { close } of gone) close();
    sentinel.others = gone.map(({ port }) => port);
    sentinel.master = { port: portOf(masters[0]), epoch: 5 };
    await connect();
    await eventually(() => isAt(masters[0]), WITHIN);
    // They are forgotten there by now.
    sentinel.others = [];
    const { asked } = sentinel;
    sentinel.drop();
    await eventually(() => sentinel.asked > asked, WITHIN);
    sentinel.master = { port: portOf(masters[1]), epoch: 0 };
    masters[0].cut();
    await eventually(() => isAt(masters[1]), WITHIN);
  });

  it('does not go to a master because a Sentinel names it that knows less than another has said before', async () => {
    const behind = await startToldSentinel({ ...sentinel.master });
    failOver();
    [sentinel.others, behind.others] = [[behind.port], [sentinel.port]];
    try {
      await connect(urlOf(sentinel, behind));
      await eventually(() => isAt(masters[1]), WITHIN);
      sentinel.close();
      masters[1].cut();
      const { asked } = behind;
      await eventually(() => behind.asked > asked + 2, WITHIN);
      masters[1].restore();
      sentinel = await startToldSentinel(sentinel.master, sentinel.port);
      await eventually(() => isAt(masters[1]), WITHIN);
      expect(masters[0].sentPieces).to.equal(0);
    } finally {
      behind.close();
    }
  });

  it('goes to the master also where one of the Sentinels tells no epoch', async () => {
    const strange = await startToldSentinel({ port: portOf(masters[1]), epoch: Number.NaN });
    try {
      await connect(urlOf(strange, sentinel));
      await eventually(() => isAt(masters[0]), WITHIN);
    } finally {
      strange.close();
    }
  });

  it('follows a failover that only Sentinels tell of that joined since: those before were replaced one by one', async () => {
    await connect();
    await eventually(() => isAt(masters[0]), WITHIN);
    for (let i = 0; i < 12; i++) {
      const next = await startToldSentinel(sentinel.master);
      let isHeard = false;
      next.onSubscribe = () => {
        isHeard = true;
      };
      sentinel.join(next);
      await eventually(() => isHeard, WITHIN);
      sentinel.close();
      sentinel = next;
    }
    failOver();
    masters[0].cut();
    await eventually(() => isAt(masters[1]), WITHIN);
  });

  it('knows whether most Sentinels name its master, and takes it for a no when they do not say so in a second', async () => {
    const others = await Promise.all([0, 1].map(() => startToldSentinel({ ...sentinel.master })));
    const hung: Server[] = [];
    sentinel.others = others.map(({ port }) => port);
    try {
      await connect();
      expect(await isNamedByMostSentinels(clients.commands)).to.equal(true);
      for (const one of [sentinel, others[0]!]) one.silentMs = 3_001;
      const isReached = () => isNamedByMostSentinels(clients.commands, { isReached: true });
      expect(
        [await isNamedByMostSentinels(clients.commands), await isReached()],
        'two hear nothing of it',
      ).to.deep.equal([true, false]);
      others[0]!.silentMs = 0;
      expect(await isReached(), 'one hears nothing of it').to.equal(true);
      others[0]!.close();
      expect(await isNamedByMostSentinels(clients.commands), 'two of three').to.equal(true);
      others[1]!.master = { port: portOf(masters[1]), epoch: 2 };
      expect(await isNamedByMostSentinels(clients.commands), 'one knows the next one').to.equal(false);
      others[1]!.close();
      expect(await isNamedByMostSentinels(clients.commands), 'one of three').to.equal(false);
      for (const { port } of others) {
        hung.push(createServer((socket) => socket.resume()).listen(port, '127.0.0.1'));
        await once(hung.at(-1)!, 'listening');
      }
      const askedAtMs = performance.now();
      expect(await isNamedByMostSentinels(clients.commands), 'the others hang').to.equal(false);
      expect(performance.now() - askedAtMs).to.be.below(1_900);
      // Of each there is the one that listens, and none that waits for an answer any more.
      await eventually(async () => (await Promise.all(hung.map(countConnections))).every((count) => count <= 1), {
        timeoutMs: 30_000,
      });
    } finally {
      for (const each of [...others, ...hung]) each.close();
    }
  });

  it('listens to none when it was closed while it connected', async () => {
    let subscriptions = 0;
    sentinel.onSubscribe = () => subscriptions++;
    clients = createRedisClients({ url: urlOf(sentinel), logger, purposes: ['commands'] });
    const { connector } = clients.commands as unknown as { connector: { stream?: Socket } };
    while (!connector.stream?.connecting) await setImmediate();
    const connected = once(connector.stream, 'connect');
    await Promise.all([clients.close(), connected]);
    await sentinel.isLeft();
    expect(subscriptions).to.equal(0);
  });
});
