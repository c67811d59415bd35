import { toError } from '@gateway/runtime/errors';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { type RedisSentinels, startRedisSentinels } from '@gateway/testkit/redis-servers/redis-sentinels';
import { expect } from 'chai';

const WITHIN = { everyMs: 20 };
const SET = (text: string) => ['SET', 'key', text] as const;

describe('a master that is cut off with one of its replicas', () => {
  let redis: RedisSentinels;
  let [master, along, other]: RedisProcess[] = [];
  before(async () => {
    redis = await startRedisSentinels({ sentinels: 0 });
    [master, along, other] = redis.servers;
  });
  after(() => redis.stop());

  const has = (server: RedisProcess, text: string) =>
    eventually(async () => (await askServer(server.url, 'GET', 'key')) === text, WITHIN);
  const confirmed = (replicas: number, ms: number) => askServer(master!.url, 'WAIT', replicas, ms);

  it('is written by clients, and followed by that one; the other one hears of it on the same connection once it is healed', async () => {
    await askServer(master!.url, ...SET('before'));
    await Promise.all([has(along!, 'before'), has(other!, 'before')]);
    const heal = redis.cutOff(master!, along!);
    try {
      await askServer(master!.url, ...SET('meanwhile'));
      await has(along!, 'meanwhile');
      expect(await confirmed(2, 300)).to.equal(1);
      expect(await askServer(other!.url, 'GET', 'key')).to.equal('before');
      expect(String(await askServer(other!.url, 'INFO', 'replication'))).to.include('master_link_status:up');
    } finally {
      heal();
    }
    await has(other!, 'meanwhile');
    expect(String(await askServer(other!.url, 'INFO', 'stats'))).to.include('sync_full:0');
    expect(await confirmed(2, 5_000)).to.equal(2);
  });

  it('is all that clients reach that are cut off with it; who watches reaches the others as well', async () => {
    const heal = redis.cutOffWithClients(master!);
    try {
      await askServer(master!.url, ...SET('aside'));
      expect(await confirmed(1, 300)).to.equal(0);
      expect(await askServer(along!.url, 'GET', 'key').catch(toError)).to.be.instanceOf(Error);
      expect(await askServer(along!.ownUrl, 'GET', 'key')).to.not.equal('aside');
    } finally {
      heal();
    }
    await Promise.all([has(along!, 'aside'), has(other!, 'aside')]);
  });

  it('is not reached by who calls it anew, until it is healed', async () => {
    const heal = redis.cutOff(master!);
    try {
      await askServer(other!.url, 'REPLICAOF', 'NO', 'ONE');
      await askServer(other!.url, 'REPLICAOF', '127.0.0.1', master!.port);
      await askServer(master!.url, ...SET('unheard'));
      expect(await confirmed(1, 300)).to.equal(0);
    } finally {
      heal();
    }
    await has(other!, 'unheard');
  });
});
