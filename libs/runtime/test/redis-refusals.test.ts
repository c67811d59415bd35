import { toError } from '@gateway/runtime/errors';
import { isRedisAway } from '@gateway/runtime/redis/is-redis-away';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { PASSWORD, RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import { Redis, ReplyError } from 'ioredis';
import { startToldSentinel } from './fixtures/told-sentinel.js';

describe('a Redis that refuses connections', () => {
  let redis: RedisProcess;
  let clients: RedisClients;
  before(async () => {
    redis = await RedisProcess.start({ password: PASSWORD });
  });
  afterEach(() => clients.close());
  after(() => redis.stop());

  it('is waited for while another password is set', async () => {
    await expectToWait(redis.url);
  });

  it('ends no process where it refuses a subscription that is renewed', async () => {
    const operator = new Redis(redis.url);
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      await operator.acl('SETUSER', 'mute', 'on', '>secret', '~*', '&*', '+@all');
      clients = await connected(`redis://mute:secret@127.0.0.1:${redis.port}`);
      await clients.subscriber.subscribe('bells');
      await operator.acl('SETUSER', 'mute', 'resetchannels');
      const isRefused = async () => JSON.stringify(await operator.acl('LOG')).includes('bells');
      await eventually(isRefused, { what: 'the subscription is refused' });
      await eventually(() => clients.subscriber.status === 'ready');
      expect(await clients.commands.ping()).to.equal('PONG');
      expect(unhandled).to.deep.equal([]);
    } finally {
      process.off('unhandledRejection', note);
      operator.disconnect();
    }
  });

  it('is waited for behind Sentinels, too', async () => {
    const sentinel = await startToldSentinel({ port: redis.port, epoch: 1 });
    try {
      await expectToWait(`redis+sentinel://:${PASSWORD}@127.0.0.1:${sentinel.port}/gateway`);
    } finally {
      await clients.close();
      sentinel.close();
    }
  });

  async function expectToWait(url: string): Promise<void> {
    clients = await connected(url);
    const { commands, failFast, queue } = clients;
    const copy = queue.duplicate();
    copy.on('error', () => {});
    try {
      await eventually(() => copy.status === 'ready');
      const refused = Promise.all([commands, copy].map(waitForRefusal));
      const allow = await refuse([redis.url]);
      const written = [commands, copy].map((client) => client.set('mine', 'x').catch(toError));
      await refused;
      expect(await failFast.set('mine', 'x').catch(toError)).to.satisfy(isRedisAway);
      await allow();
      expect(await Promise.all(written)).to.deep.equal(['OK', 'OK']);
    } finally {
      copy.disconnect();
    }
  }
});

describe('nodes of a Redis Cluster that refuse connections, or are away', () => {
  const keys = ['a', 'b', 'c', 'd', 'e', 'f'];
  let cluster: RedisCluster;
  let clients: RedisClients;
  before(async () => {
    cluster = await startRedisCluster();
  });
  beforeEach(async () => {
    await eventually(() => cluster.agree());
    clients = await connected(cluster.url);
  });
  afterEach(() => clients.close());
  after(() => cluster.stop());

  const urls = () => cluster.shards.map(({ master }) => master.url);
  const writeAll = (client: Redis) => Promise.all(keys.map((key) => client.set(key, 'x').catch(toError)));
  const isAwayOrWritten = (answer: unknown) => answer === 'OK' || isRedisAway(answer as Error);

  it('one of them is waited for', async () => {
    const { commands, failFast } = clients;
    const allow = await refuse(urls().slice(1, 2));
    const written = writeAll(commands);
    const answers = await writeAll(failFast);
    expect(answers)
      .to.include('OK')
      .and.satisfy((all: unknown[]) => all.every(isAwayOrWritten));
    await allow();
    expect(await written).to.deep.equal(keys.map(() => 'OK'));
  });

  it('so are all of them', async () => {
    const { commands, failFast } = clients;
    const allow = await refuse(urls());
    const written = writeAll(commands);
    await eventually(async () =>
      (await writeAll(failFast)).every((answer) => answer !== 'OK' && isAwayOrWritten(answer)),
    );
    await allow();
    expect(await written).to.deep.equal(keys.map(() => 'OK'));
  });

  it('count as a Redis that is away when none is left', async () => {
    const { failFast } = clients;
    for (const { master } of cluster.shards) await master.kill();
    try {
      const isNoneLeft = async () => {
        const answers = await writeAll(failFast);
        expect(answers).to.satisfy((all: Error[]) => all.every(isRedisAway));
        return answers.some((answer) => String(answer).includes("Cluster isn't ready"));
      };
      await eventually(isNoneLeft);
    } finally {
      for (const { master } of cluster.shards) master.restart();
    }
  });
});

async function connected(url: string): Promise<RedisClients> {
  const clients = createRedisClients({ url, logger: silentLogger });
  await clients.waitForReady();
  return clients;
}

const waitForRefusal = (client: Redis) =>
  new Promise<void>((resolve) => client.on('error', (error) => error instanceof ReplyError && resolve()));

/** As when its password is changed: all connections end, and none is taken with the former one. Returns what takes that back. */
async function refuse(urls: readonly string[]): Promise<() => Promise<void>> {
  const operators = urls.map((url) => new Redis(url));
  for (const operator of operators) {
    await operator.call('ACL', 'SETUSER', 'operator', 'on', '>operator', '~*', '&*', '+@all');
    await operator.call('AUTH', 'operator', 'operator');
    await operator.call('ACL', 'SETUSER', 'default', `<${PASSWORD}`, '>another');
    for (const type of ['normal', 'pubsub']) await operator.call('CLIENT', 'KILL', 'TYPE', type, 'SKIPME', 'yes');
  }
  return async () => {
    for (const operator of operators) {
      await operator.call('ACL', 'SETUSER', 'default', `>${PASSWORD}`, '<another');
      operator.disconnect();
    }
  };
}
