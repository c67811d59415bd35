import { toError } from '@gateway/runtime/errors';
import type { Logger } from '@gateway/runtime/logs/logger';
import { isRedisAway } from '@gateway/runtime/redis/is-redis-away';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { eventually } from '@gateway/testkit/eventually';
import { startRedisProxy } from '@gateway/testkit/redis-proxy';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import { type Redis, ReplyError } from 'ioredis';
import { startToldSentinel } from './fixtures/told-sentinel.js';

const messageOf = (error: Error) => error.message;
const REFUSED = 'Redis refuses connections: ERR DB index is out of range';

describe('the database of a Redis URL', () => {
  let redis: RedisProcess;
  let clients: RedisClients | undefined;
  before(async () => {
    redis = await RedisProcess.start({ settings: ['--databases', '2'] });
    await eventually(() => askServer(redis.url, 'PING'));
  });
  afterEach(async () => {
    await clients?.close();
    clients = undefined;
  });
  after(() => redis.stop());

  const connect = (url: string, logger = silentLogger) => {
    clients = createRedisClients({ url, logger });
    return clients;
  };
  /** What is said once each of them was refused, or `ready`. */
  const refusalOf = ({ waitForReady, commands, failFast, queue, subscriber }: RedisClients) => {
    const [until, refused] = [new AbortController(), new Set<Redis>()];
    for (const client of [commands, failFast, queue, subscriber]) {
      client.on('error', (error) => {
        if (error instanceof ReplyError) refused.add(client);
        if (refused.size === 4) setImmediate(() => until.abort());
      });
    }
    return waitForReady(until.signal).then(() => 'ready', messageOf);
  };
  const write = async (client: Redis) => {
    await client.set('mine', 'x', 'PX', 60_000);
    return client.exists('mine');
  };
  const isInFirst = () => askServer(redis.url, 'EXISTS', 'mine');

  it('is where clients read and write, and copies of them', async () => {
    const { commands, failFast, queue, waitForReady } = connect(`${redis.url}/1`);
    await waitForReady();
    const copy = queue.duplicate();
    try {
      expect(await Promise.all([commands, failFast, copy].map(write))).to.deep.equal([1, 1, 1]);
      expect(await isInFirst()).to.equal(0);
    } finally {
      copy.disconnect();
    }
  });

  it('is not the first one in place of one that Redis does not have: no client is ready, and it says why', async () => {
    const logged: unknown[] = [];
    const warn = (line: string, { error }: { error?: Error } = {}) => logged.push([line, error?.message]);
    const logger: Logger = { ...silentLogger, child: () => ({ ...silentLogger, warn }) };
    const refused = connect(`${redis.url}/2`, logger);
    const copy = refused.queue.duplicate();
    copy.on('error', () => {});
    const waits = [refused.commands, copy].map(write);
    try {
      expect(await refusalOf(refused)).to.equal(REFUSED);
      expect(await write(refused.failFast).catch(toError))
        .to.be.an('error')
        .that.satisfies(isRedisAway);
      expect(await isInFirst()).to.equal(0);
      expect(logged).to.deep.include(['redis refuses connections', 'ERR DB index is out of range']);
    } finally {
      for (const wait of waits) wait.catch(() => {});
      copy.disconnect();
    }
  });

  it('is waited for, as Redis is: what was asked meanwhile is done once a server has it', async () => {
    const proxy = await startRedisProxy(redis.url);
    const larger = await RedisProcess.start();
    try {
      const waiting = connect(`${proxy.url}/2`);
      const written = write(waiting.commands);
      expect(await refusalOf(waiting)).to.equal(REFUSED);
      proxy.lead(larger.url);
      expect(await refusalOf(waiting)).to.equal('ready');
      expect(await written).to.equal(1);
    } finally {
      await clients?.close();
      proxy.close();
      await larger.stop();
    }
  });

  it('is not the first one behind Sentinels either', async () => {
    const sentinel = await startToldSentinel({ port: redis.port, epoch: 1 });
    try {
      const of = (database: number) => connect(`redis+sentinel://127.0.0.1:${sentinel.port}/gateway/${database}`);
      expect(await refusalOf(of(2))).to.equal(REFUSED);
      await clients!.close();
      expect(await refusalOf(of(1))).to.equal('ready');
    } finally {
      await clients?.close();
      sentinel.close();
    }
  });

  it('is refused to a user that may not select one', async () => {
    await askServer(redis.url, 'ACL', 'SETUSER', 'gateway', 'on', '>secret', '~*', '&*', '+@all', '-select');
    expect(await refusalOf(connect(`redis://gateway:secret@127.0.0.1:${redis.port}/1`))).to.match(/NOPERM .*select/);
  });
});
