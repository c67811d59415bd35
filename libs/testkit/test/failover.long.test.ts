import { toError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import { confirmByReplicas } from '@gateway/runtime/redis/confirm-writes';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { masterNodes } from '@gateway/runtime/redis/redis-nodes';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { type RedisSentinels, startRedisSentinels } from '@gateway/testkit/redis-servers/redis-sentinels';
import { expect } from 'chai';
import { Redis } from 'ioredis';

const WITHIN = { everyMs: 100 };
const logger = { ...createLogger({ service: 'test', level: 'error' }), warn: () => {} };
const watches: (() => void)[] = [];
const stopWatches = () => {
  for (const stop of watches.splice(0)) stop();
};

/** What is written by this connection itself. */
function confirmBy(redis: Redis, replicas: number, options?: { lookMs: number }): (key: string) => Promise<void> {
  const { confirm, stop } = confirmByReplicas(redis, replicas, options);
  watches.push(stop);
  return (key) => confirm(redis, key);
}

describe('clients of Redis behind Sentinels', () => {
  let servers: RedisSentinels;
  let clients: RedisClients;
  before(async () => {
    servers = await startRedisSentinels();
  });
  beforeEach(async () => {
    clients = createRedisClients({ url: servers.url, logger });
    await clients.waitForReady();
  });
  afterEach(() => clients.close());
  after(() => servers.stop());

  async function outlives(fault: (master: RedisProcess) => unknown): Promise<RedisProcess> {
    const old = await servers.findMaster();
    await fault(old);
    // Sent while nothing is there that could answer: it waits for the next master.
    expect(await clients.commands.set('waited', String(old.port))).to.equal('OK');
    await eventually(async () => (await servers.findMaster()) !== old, WITHIN);
    expect(await eventually(() => clients.failFast.get('waited'), WITHIN)).to.equal(String(old.port));
    const heard: string[] = [];
    clients.subscriber.on('message', (_channel, text) => heard.push(text));
    await eventually(async () => (await clients.subscriber.subscribe('bell')) === 1, WITHIN);
    await eventually(async () => {
      await clients.commands.publish('bell', 'ring');
      return heard.includes('ring');
    }, WITHIN);
    return old;
  }

  it('leave a master that has become a replica: what it refuses goes to the next one', async () => {
    await eventually(async () => (await replicasOf(await servers.findMaster())) === 2, WITHIN);
    await outlives(async (master) => {
      const admin = new Redis(servers.sentinels[0]!.port, '127.0.0.1');
      await eventually(
        async () => (await admin.call('SENTINEL', 'FAILOVER', 'gateway').catch(() => '')) === 'OK',
        WITHIN,
      );
      admin.disconnect();
      await eventually(async () => (await servers.findMaster()) !== master, WITHIN);
    });
  });

  it('follow when the master is killed', async () => {
    await eventually(async () => (await replicasOf(await servers.findMaster())) === 2, WITHIN);
    const old = await outlives((master) => master.kill());
    old.restart();
  });

  it('follow within seconds when the master freezes and keeps its connections, for who waits for an answer', async () => {
    await eventually(async () => (await replicasOf(await servers.findMaster())) === 2, WITHIN);
    const old = await servers.findMaster();
    old.freeze();
    await eventually(async () => (await clients.failFast.set('frozen', 'no more')) === 'OK', {
      ...WITHIN,
      timeoutMs: 12_000,
    });
    old.thaw();
  });

  it('follow within seconds when the master is cut off from all others and still answers them', async () => {
    await eventually(async () => (await replicasOf(await servers.findMaster())) === 2, WITHIN);
    const old = await servers.findMaster();
    const heal = servers.cutOff(old);
    try {
      expect(await clients.commands.set('taken by', old.port)).to.equal('OK');
      await eventually(async () => (await servers.findMaster()) !== old, WITHIN);
      const next = await servers.findMaster();
      for (const client of [clients.commands, clients.failFast]) {
        await eventually(async () => ((await client.config('GET', 'port')) as string[])[1] === String(next.port), {
          ...WITHIN,
          timeoutMs: 3_000,
        });
      }
    } finally {
      heal();
    }
  });
});

describe('a promise that one of two replicas confirmed', () => {
  afterEach(stopWatches);

  it('is not given when the other one may have taken over, and is again when it only stopped', async () => {
    const { servers, stop } = await startRedisSentinels({ sentinels: 0 });
    const [master, elected, other] = servers as [RedisProcess, RedisProcess, RedisProcess];
    const redis = new Redis(master.url);
    const confirm = confirmBy(redis, 1);
    try {
      await eventually(async () => (await replicasOf(master)) === 2, WITHIN);
      await confirm('gw:{#0}:key');
      // As an election does that the master and its other replica hear of later: that one still confirms.
      await askServer(elected.url, 'REPLICAOF', 'NO', 'ONE');
      await redis.set('promise', 'given');
      expect(await redis.wait(1, 10_000)).to.equal(1);
      const [told] = await Promise.allSettled([confirm('gw:{#0}:key')]);
      expect(told).to.have.nested.property('reason.code', 'not_confirmed');
      expect(await askServer(elected.url, 'GET', 'promise')).to.equal(null);
      await eventually(() => confirm('gw:{#0}:key').then(() => true), WITHIN);
      await askServer(elected.url, 'REPLICAOF', '127.0.0.1', String(master.port));
      await eventually(async () => (await replicasOf(master)) === 2, WITHIN);
      await eventually(() => confirm('gw:{#0}:key').then(() => true), WITHIN);
      redis.disconnect(true);
      await askServer(elected.url, 'REPLICAOF', 'NO', 'ONE');
      await eventually(() => redis.status === 'ready', WITHIN);
      const [anew] = await Promise.allSettled([confirm('gw:{#0}:key')]);
      expect(anew, 'on another connection').to.have.nested.property('reason.code', 'not_confirmed');
      await eventually(() => confirm('gw:{#0}:key').then(() => true), WITHIN);
      await other.kill();
      const [alone] = await Promise.allSettled([confirm('gw:{#0}:key')]);
      expect(alone).to.have.nested.property('reason.code', 'not_confirmed');
    } finally {
      redis.disconnect();
      await stop();
    }
  });
});

describe('a promise for which a replica has come and gone since the one before', () => {
  afterEach(stopWatches);

  it('is not given at once: that replica may have taken over', async () => {
    const { servers, stop } = await startRedisSentinels({ sentinels: 0 });
    const [master, elected] = servers as [RedisProcess, RedisProcess];
    const redis = new Redis(master.url);
    const confirm = confirmBy(redis, 1, { lookMs: 50 });
    try {
      await eventually(async () => (await replicasOf(master)) === 2, WITHIN);
      await askServer(elected.url, 'REPLICAOF', 'NO', 'ONE');
      await eventually(async () => (await replicasOf(master)) === 1, WITHIN);
      await eventually(() => confirm('gw:{#0}:key').then(() => true), WITHIN);
      const looks = watchLooks(redis);
      await askServer(elected.url, 'REPLICAOF', '127.0.0.1', String(master.port));
      await eventually(async () => (await replicasOf(master)) === 2, WITHIN);
      const before = looks.count;
      await eventually(() => looks.count >= before + 2, WITHIN);
      await askServer(elected.url, 'REPLICAOF', 'NO', 'ONE');
      await eventually(async () => (await replicasOf(master)) === 1, WITHIN);
      const [told] = await Promise.allSettled([confirm('gw:{#0}:key')]);
      expect(told).to.have.nested.property('reason.code', 'not_confirmed');
      await eventually(() => confirm('gw:{#0}:key').then(() => true), WITHIN);
    } finally {
      redis.disconnect();
      await stop();
    }
  });

  function watchLooks(redis: Redis): { count: number } {
    const looks = { count: 0 };
    const info = redis.info.bind(redis) as (...args: unknown[]) => Promise<string>;
    redis.info = async (...args: unknown[]) => {
      const text = await info(...args);
      looks.count++;
      return text;
    };
    return looks;
  }
});

describe('a promise of a master that wakes up', () => {
  afterEach(stopWatches);

  it('is not given at once: a replica that no process had seen may have taken over', async () => {
    const { servers, stop } = await startRedisSentinels({ sentinels: 0 });
    const [master, elected, other] = servers as [RedisProcess, RedisProcess, RedisProcess];
    const redis = new Redis(master.url, { commandTimeout: 2_000 });
    try {
      await eventually(async () => (await replicasOf(master)) === 2, WITHIN);
      await askServer(elected.url, 'REPLICAOF', 'NO', 'ONE');
      await eventually(async () => (await replicasOf(master)) === 1, WITHIN);
      const confirm = confirmBy(redis, 1);
      await confirm('gw:{#0}:key');
      // It comes between two looks, and the master freezes.
      await askServer(elected.url, 'REPLICAOF', '127.0.0.1', String(master.port));
      await eventually(async () => (await replicasOf(master)) === 2, { ...WITHIN, everyMs: 5 });
      master.freeze();
      await eventually(async () => (await secondsOfSilence(other)) >= 3, WITHIN);
      const asked = confirm('gw:{#0}:key').catch(toError);
      await askServer(elected.url, 'REPLICAOF', 'NO', 'ONE');
      master.thaw();
      expect(await asked, 'asked before').to.have.property('code', 'not_confirmed');
      expect(await confirm('gw:{#0}:key').catch(toError), 'asked after').to.have.property('code', 'not_confirmed');
      await eventually(() => confirm('gw:{#0}:key').then(() => true), WITHIN);
    } finally {
      master.thaw();
      redis.disconnect();
      await stop();
    }
  });

  it('nor to a process that has just begun', async () => {
    const servers = await startRedisSentinels();
    const clients = createRedisClients({ url: servers.url, logger });
    const master = await servers.findMaster();
    try {
      await eventually(async () => (await replicasOf(master)) === 2, WITHIN);
      await clients.waitForReady();
      master.freeze();
      // Connected before, it meets the master for the first time when that wakes up.
      const confirm = confirmBy(clients.commands, 1);
      const asked = confirm('gw:{#0}:key').catch(toError);
      await eventually(() => isElecting(servers), WITHIN);
      master.thaw();
      expect(await asked).to.have.property('code', 'not_confirmed');
      await eventually(() => confirm('gw:{#0}:key').then(() => true), WITHIN);
    } finally {
      master.thaw();
      await clients.close();
      await servers.stop();
    }
  });

  async function isElecting({ sentinels }: RedisSentinels): Promise<boolean> {
    const told = await Promise.all(sentinels.map(({ url }) => askServer(url, 'SENTINEL', 'MASTER', 'gateway')));
    return told.some((fields) => String(fields).includes('failover_in_progress'));
  }

  async function secondsOfSilence(replica: RedisProcess): Promise<number> {
    const info = String(await askServer(replica.url, 'INFO', 'replication'));
    return Number(/^master_last_io_seconds_ago:(\d+)/m.exec(info)?.[1]);
  }
});

describe('clients of a Redis Cluster', () => {
  afterEach(stopWatches);

  let cluster: RedisCluster;
  let clients: RedisClients<'commands' | 'failFast' | 'subscriber' | 'confirms'>;
  before(async () => {
    cluster = await startRedisCluster({ replicas: 1, canBeCut: true });
    clients = createRedisClients({
      url: cluster.url,
      logger,
      purposes: ['commands', 'failFast', 'subscriber', 'confirms'],
    });
    await clients.waitForReady();
  });
  after(async () => {
    await clients.close();
    await cluster.stop();
  });

  it('know its masters', () => {
    expect(masterNodes(clients.commands)).to.have.length(3);
  });

  it('are told what replicas have, shard by shard', async () => {
    const { confirm: confirmWrites, stop } = confirmByReplicas(clients.confirms, 1);
    watches.push(stop);
    const confirm = (key: string) => confirmWrites(clients.commands, key);
    const keys = Array.from({ length: 12 }, (_, i) => `gw:{#${i}}:key`);
    const replica = cluster.shards[0]!.replicas[0]!;
    try {
      for (const key of keys) await clients.commands.set(key, 'written');
      await Promise.all(keys.map(confirm));
      replica.freeze();
      const told = await Promise.allSettled(keys.map(confirm));
      const refused = told.filter(({ status }) => status === 'rejected').length;
      expect(refused, 'of twelve shards those of one node').to.be.within(1, 11);
      replica.thaw();
      await eventually(() => Promise.all(keys.map(confirm)), WITHIN);
    } finally {
      replica.thaw();
    }
  });

  it('leave a master that is cut off from all others for its replica, and it refuses what they still send it', async () => {
    const { master, replicas } = cluster.shards[1]!;
    const names = Array.from({ length: 12 }, (_, i) => `{${i}}`);
    const cutOff = new Redis(master.url);
    const heal = cluster.cutOff(master);
    try {
      await eventually(() => isMaster(replicas[0]!), WITHIN);
      await eventually(async () => {
        const answers = await Promise.all(names.map((name) => cutOff.set(name, 'lost').catch(toError)));
        return answers.every((answer) => answer instanceof Error);
      }, WITHIN);
      await Promise.all(names.map((name) => clients.commands.set(name, 'kept')));
    } finally {
      heal();
      cutOff.disconnect();
    }
  });

  it('lose only the shards of a node that goes, and have them back from its replica', async () => {
    const names = Array.from({ length: 60 }, (_, i) => `{${i}}`);
    for (const name of names) await clients.commands.set(name, 'before');
    await cluster.shards[0]!.master.kill();
    const outcomes = await Promise.allSettled(names.map((name) => clients.failFast.set(name, 'meanwhile')));
    const done = outcomes.filter(({ status }) => status === 'fulfilled');
    expect(done.length, 'of 60 names two thirds lie on other nodes').to.be.within(20, 59);
    // These wait.
    await Promise.all(names.map((name) => clients.commands.set(name, 'after')));
    for (const name of names) {
      expect(await eventually(() => clients.failFast.get(name), WITHIN)).to.equal('after');
    }
  });

  it('hear what is published through any node', async () => {
    const heard: string[] = [];
    clients.subscriber.on('message', (_channel, text) => heard.push(text));
    await clients.subscriber.subscribe('bell');
    for (const node of masterNodes(clients.commands)) await node.publish('bell', String(node.options.port));
    await eventually(() => heard.length === 3, WITHIN);
  });
});

async function isMaster({ url }: RedisProcess): Promise<boolean> {
  return ((await askServer(url, 'ROLE')) as string[])[0] === 'master';
}

/** Those that have all up to now. */
async function replicasOf(master: RedisProcess): Promise<number> {
  const client = new Redis(master.url);
  try {
    return [...(await client.info('replication')).matchAll(/^slave\d+:.*state=online,/gm)].length;
  } finally {
    client.disconnect();
  }
}
