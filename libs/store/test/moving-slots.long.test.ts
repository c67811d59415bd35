import { shardOf } from '@gateway/contracts/shards';
import { toError } from '@gateway/runtime/errors';
import { isRedisAway } from '@gateway/runtime/redis/is-redis-away';
import type { Script } from '@gateway/store/core/scripts/define-script';
import { onConnection } from '@gateway/store/core/store';
import { claimDevice, type Ownership, openSession } from '@gateway/store/fleet/ownership';
import { renewSessionOf, sessionKeyOf, takeDevice } from '@gateway/testkit/ownership';
import { allScripts } from '@gateway/testkit/redis-servers/all-scripts';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { useMovingCluster } from '@gateway/testkit/redis-servers/use-moving-cluster';
import { expect } from 'chai';
import { Redis } from 'ioredis';

const address = { workspace: 'main', device: 'default' };
const TTL_MS = 60_000;
/** They touch one key each, and a process may not lose its sessions with the time that a move takes. */
const OF_SESSIONS = ['open-session', 'renew-sessions', 'end-sessions'];

describe('steps in a slot of a Redis Cluster that moves to another master', () => {
  const moving = useMovingCluster();

  async function move(key: string, goes: (key: string) => boolean): Promise<{ from: RedisProcess; to: RedisProcess }> {
    const from = moving.masterOf(key);
    const to = moving.cluster.shards.find(({ master }) => master !== from)!.master;
    await moving.move(key, { to, goes });
    return { from, to };
  }

  it('wait, at the former master and at the next one', async () => {
    const { space } = moving;
    const key = `${space.prefix}:{#0}:a`;
    await space.clients.commands.set(key, 'here');
    const there = `${space.prefix}:{#0}:b`;
    await space.clients.commands.set(there, 'there');
    const { from, to } = await move(key, (moved) => moved === there);
    const begin = async (server: RedisProcess, at: string, { onCluster }: Script) => {
      const client = new Redis(server.url);
      try {
        await client.asking();
        return (await client.eval(onCluster.lua, 1, at).catch(toError)) as Error;
      } finally {
        client.disconnect();
      }
    };
    const went: string[] = [];
    const waits = async (script: Script, server: RedisProcess, at: string) => {
      const { message = '' } = (await begin(server, at, script)) ?? {};
      if (!message.startsWith('TRYAGAIN')) went.push(script.name);
    };
    const steps = (await allScripts()).filter(({ name }) => !OF_SESSIONS.includes(name));
    expect(steps.length).to.be.above(80);
    for (const script of steps) {
      await waits(script, from, key);
      await waits(script, to, there);
    }
    expect(went).to.deep.equal([]);
  });

  it('do not take an owner for dead whose session has not moved yet, nor does that run out', async () => {
    const { space } = moving;
    const { store } = space;
    const shard = shardOf(address);
    const owner = (await takeDevice(store, address, { owner: 'first', ttlMs: TTL_MS })) as Ownership;
    await openSession(store, { shard, id: 'second' }, TTL_MS);
    const first = sessionKeyOf(store, owner);
    await move(first, (key) => key !== first);
    const claim = (by = space.clients.failFast) =>
      claimDevice(onConnection(store, by), address, 'second').catch(toError);
    const refusal = await claim();
    const waiting = claim(space.clients.commands);
    expect(refusal instanceof Error && isRedisAway(refusal), String(refusal)).to.equal(true);
    expect(await renewSessionOf(store, owner, TTL_MS)).to.equal(true);
    await moving.finish();
    expect(await waiting).to.equal('taken');
  });
});
