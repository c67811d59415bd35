import { createLogger } from '@gateway/runtime/logs/logger';
import { confirmByReplicas } from '@gateway/runtime/redis/confirm-writes';
import { createRedisClients } from '@gateway/runtime/redis/redis-clients';
import { eventually } from '@gateway/testkit/eventually';
import { startRedisProxy } from '@gateway/testkit/redis-proxy';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { type RedisSentinels, startRedisSentinels } from '@gateway/testkit/redis-servers/redis-sentinels';
import { expect } from 'chai';
import { Redis } from 'ioredis';

const WITHIN = { everyMs: 50 };
const logger = { ...createLogger({ service: 'test', level: 'error' }), warn: () => {} };
/** More than a replica reads in one go, which it still does before it obeys. */
const VALUE = 'x'.repeat(100_000);
const PROMISES = 10;

describe('a promise while the replica hangs that operators put in place of the master', () => {
  let servers: RedisSentinels;
  beforeEach(async () => {
    servers = await startRedisSentinels();
  });
  afterEach(() => servers.stop());

  it('is not given on the word of the other one, which follows it, and is again by the next master', async () => {
    await keepsPromises(() => servers.failOver());
  });

  it('is not given by a process whose connections to the Sentinel were cut as that began', async () => {
    await keepsPromises(cutAndFailOver);
  });

  it('is not given by one that is back at the only Sentinel later than with what it promises', async () => {
    await servers.stop();
    servers = await startRedisSentinels({ sentinels: 1 });
    const { url } = servers.sentinels[0]!;
    const proxy = await startRedisProxy(url);
    try {
      await keepsPromises(
        (listener) => {
          proxy.setDelay(500);
          return cutAndFailOver(listener);
        },
        servers.url.replace(new URL(url).host, new URL(proxy.url).host),
      );
    } finally {
      proxy.close();
    }
  });

  async function cutAndFailOver(listener: number): Promise<void> {
    const { url } = servers.sentinels[0]!;
    const listed = String(await askServer(url, 'CLIENT', 'LIST', 'TYPE', 'pubsub'));
    const others = [...listed.matchAll(/^id=(\d+)/gm)].filter(([, id]) => Number(id) !== listener);
    const orders = new Redis(url);
    const commands = others.map(([, id]) => ['client', 'kill', 'id', id!]);
    // All at once: none of them is there again by the order.
    const replies = await orders.pipeline([...commands, ['sentinel', 'failover', 'gateway']]).exec();
    orders.disconnect();
    expect(replies).to.deep.equal([...others.map(() => [null, 1]), [null, 'OK']]);
    expect(others).to.have.length.greaterThan(0);
  }

  /** @param failOver orders it, of the first Sentinel; `listener` is the id of the connection by which it is seen there. */
  async function keepsPromises(failOver: (listener: number) => Promise<void>, url = servers.url): Promise<void> {
    const clients = createRedisClients({ url, logger, purposes: ['commands', 'failFast', 'confirms'] });
    const { confirm, stop } = confirmByReplicas(clients.confirms, 1);
    const promise = async (key: string) => {
      await clients.failFast.set(`gw:{#0}:${key}`, VALUE);
      return confirm(clients.failFast, `gw:{#0}:${key}`).then(
        () => true,
        () => false,
      );
    };
    const sentinel = new Redis(servers.sentinels[0]!.url);
    const [, hung, other] = servers.servers as [RedisProcess, RedisProcess, RedisProcess];
    try {
      await clients.waitForReady();
      await eventually(() => promise('before'), WITHIN);
      await askServer(other.url, 'CONFIG', 'SET', 'replica-priority', '0');
      await eventually(
        async () => (await tellReplicas(servers)).some((replica) => replica['slave-priority'] === '0'),
        WITHIN,
      );
      const listener = (await sentinel.client('ID')) as number;
      const ordered = new Promise((resolve) => sentinel.once('message', resolve));
      await sentinel.subscribe('+failover-state-wait-promotion');
      hung.freeze();
      const given: string[] = [];
      try {
        await failOver(listener);
        await ordered;
        for (let i = 0; i < PROMISES; i++) if (await promise(`hung-${i}`)) given.push(`hung-${i}`);
      } finally {
        hung.thaw();
      }
      await eventually(async () => (await servers.findMaster()) === hung, WITHIN);
      await eventually(() => promise('after'), WITHIN);
      const kept = await Promise.all(given.map((key) => clients.commands.exists(`gw:{#0}:${key}`)));
      expect(kept, `kept of ${given.length} that were given`).to.deep.equal(given.map(() => 1));
    } finally {
      stop();
      sentinel.disconnect();
      await clients.close();
    }
  }
});

describe('a promise while one of two replicas hangs', () => {
  it('is not given for a while once that is known, as it may be the next master, and is on the word of the other one then', async () => {
    const { servers, stop } = await startRedisSentinels({ sentinels: 0 });
    const [master, hung] = servers as [RedisProcess, RedisProcess];
    const redis = new Redis(master.url);
    const confirming = confirmByReplicas(redis, 1);
    const isGiven = () =>
      confirming.confirm(redis, 'gw:{#0}:key').then(
        () => true,
        () => false,
      );
    try {
      await eventually(async () => /connected_slaves:2/.test(await redis.info('replication')), WITHIN);
      await eventually(isGiven, WITHIN);
      hung.freeze();
      await eventually(async () => !(await isGiven()), WITHIN);
      await eventually(isGiven, WITHIN);
      expect(await redis.info('replication'), 'its connection lasts').to.match(/connected_slaves:2/);
    } finally {
      confirming.stop();
      redis.disconnect();
      hung.thaw();
      await stop();
    }
  });
});

/** As the Sentinel knows them that is asked for failovers. */
async function tellReplicas({ sentinels }: RedisSentinels): Promise<Record<string, string>[]> {
  const replicas = (await askServer(sentinels[0]!.url, 'SENTINEL', 'REPLICAS', 'gateway')) as string[][];
  return replicas.map((fields) =>
    Object.fromEntries(fields.flatMap((field, i) => (i % 2 === 0 ? [[field, fields[i + 1]!]] : []))),
  );
}
