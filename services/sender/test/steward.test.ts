import { shortDeviceId } from '@gateway/contracts/ids';
import { deviceKeys, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { SHARDS, shardOf } from '@gateway/contracts/shards';
import { findDeviceByShortId, listDevices } from '@gateway/store/devices/devices';
import { endSessions, openSession } from '@gateway/store/fleet/ownership';
import { processOf } from '@gateway/store/fleet/process-of';
import { takeRole } from '@gateway/store/fleet/shards/take-role';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend } from '@gateway/store/sends/change-send';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { takeInSend } from '@gateway/testkit/sends/take-in-send';
import { expect } from 'chai';
import { useStewards } from './support/use-stewards.js';

const workspace = 'main';
const soon = { everyMs: 5 };

describe('the steward of shards', () => {
  const { stage, start, beat, send, read, isClosed, dueMs, own } = useStewards();

  it('ends what is over on a device without an owner, and owns nothing for it', async () => {
    const [over, going] = [await send('a', { lifeMs: -1 }), await send('a')];
    await start();
    await isClosed('a', over);
    expect((await read('a', over))!.counts).to.include({ expired: 1 });
    expect((await read('a', going))!.state).to.equal('open');
    const { epoch, owner } = deviceKeys(stage.space.store.space, { workspace, device: 'a' });
    expect(await stage.space.clients.commands.exists(epoch, owner)).to.equal(0);
  });

  it('ends it beside a living owner, too', async () => {
    const ownership = await own('a');
    const over = await send('a', { lifeMs: 50 });
    await takeInSend(stage.space.store, ownership, { tag: (await read('a', over))!.tag, nowMs: Date.now() });
    await start();
    await isClosed('a', over);
  });

  it('releases the files of sends that have ended', async () => {
    const address = { workspace, device: 'a' };
    const medium = { type: 'document', mimeType: 'text/plain', sizeBytes: 4, blob: 'hash', blobHolder: 'h' } as const;
    const { messageId } = await acceptSend(stage.space.store, address, {
      ...{ kind: 'media', priority: 'bulk', content: { kind: 'media', ...medium }, parts: 1, recipients: ['491511'] },
      ...{ owner: 't', requestId: 'r', nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
    await cancelSend(stage.space.store, address, messageId);
    const { releasedBlobs } = deviceKeys(stage.space.store.space, address);
    const { due } = shardKeys(stage.space.store.space, shardOf(address));
    expect(await stage.space.store.redis.exists(releasedBlobs)).to.equal(1);
    expect(await stage.space.store.redis.zcount(due, 0, Date.now()), 'not only once the shard is mended').to.equal(1);
    await start();
    await eventually(async () => (await stage.space.store.redis.exists(releasedBlobs, due)) === 0, soon);
  });

  it('finds what is open and not due, and files to release, as when the index was lost', async () => {
    const ownership = await own('a');
    const [taken, untaken, over] = [await send('a'), await send('a'), await send('b', { lifeMs: 300 })];
    await takeInSend(stage.space.store, ownership, { tag: (await read('a', taken))!.tag, nowMs: Date.now() });
    const { releasedBlobs } = deviceKeys(stage.space.store.space, { workspace, device: 'a' });
    await stage.space.store.redis.sadd(releasedBlobs, 'hash:4:holder');
    await start();
    await eventually(() => stage.stewards[0]!.steward.shards.length === SHARDS, soon);
    const indexes = ['a', 'b'].map((device) => shardKeys(stage.space.store.space, shardOf({ workspace, device })).due);
    await Promise.all(indexes.map((index) => stage.space.store.redis.unlink(index)));
    await eventually(() => stage.jobs.length === 2, soon);
    expect(stage.jobs.map(({ job }) => job.messageId)).to.have.members([taken, untaken]);
    await isClosed('b', over);
    expect((await read('b', over))!.counts).to.include({ expired: 1 });
    await eventually(async () => (await stage.space.store.redis.exists(releasedBlobs)) === 0, soon);
  });

  /** What asks for this key has no answer before `thaw`. */
  function freeze(key: string): void {
    const { store } = stage.space;
    const thawed = new Promise<void>((resolve) => {
      stage.thaw = resolve;
    });
    const { run } = store;
    const read = store.redis.zrangebyscore.bind(store.redis) as (...args: unknown[]) => Promise<string[]>;
    Object.assign(store, {
      run: async (...args: Parameters<typeof run>) => {
        if (args[1].includes(key)) await thawed;
        return run(...args);
      },
    });
    Object.assign(store.redis, {
      zrangebyscore: async (...args: unknown[]) => {
        if (args[0] === key) await thawed;
        return read(...args);
      },
    });
  }

  it('puts a device back into the list of its workspace, which lies elsewhere, as when a failover took it', async () => {
    const { store } = stage.space;
    await createWorkspace(store, workspace);
    const { devices, shortDeviceIds } = workspaceKeys(store.space, workspace);
    await store.redis.srem(devices, 'a');
    await store.redis.hdel(shortDeviceIds, shortDeviceId({ workspace, device: 'a' }));
    await start();
    await eventually(async () => (await listDevices(store, workspace)).includes('a'), soon);
    expect(await findDeviceByShortId(store, workspace, shortDeviceId({ workspace, device: 'a' }))).to.equal('a');
  });

  it('mends all other shards while the node of one hangs', async () => {
    const [a, b] = ['a', 'b'].map((device) => shardKeys(stage.space.store.space, shardOf({ workspace, device }))) as [
      ReturnType<typeof shardKeys>,
      ReturnType<typeof shardKeys>,
    ];
    freeze(a.devices);
    await start();
    await eventually(() => stage.stewards[0]!.steward.shards.length === SHARDS, soon);
    const over = await send('b', { lifeMs: 50 });
    await stage.space.store.redis.unlink(b.due);
    await isClosed('b', over);
  });

  it('asks nothing of a shard in which nothing is due soon, at every other tick', async () => {
    let looks = 0;
    let rounds = 0;
    const { store } = stage.space;
    const read = store.redis.zrangebyscore.bind(store.redis) as (...args: unknown[]) => Promise<string[]>;
    Object.assign(store.redis, {
      zrangebyscore: (...args: unknown[]) => {
        looks++;
        return read(...args);
      },
    });
    const { run } = store;
    const count = (...args: Parameters<typeof run>) => {
      if (args[0] === 'list-members') rounds++;
      return run(...args);
    };
    Object.assign(store, { run: count });
    stage.stoppedAtMs = 1;
    await start();
    await eventually(() => looks >= SHARDS, soon);
    rounds = 0;
    await eventually(() => rounds === 3, soon);
    expect(looks).to.equal(SHARDS);
    stage.stoppedAtMs += 8;
    await eventually(() => looks === 2 * SHARDS, soon);
  });

  it('serves shards that have no steward while the list of senders does not answer', async () => {
    const { store } = stage.space;
    const { run } = store;
    const silent: typeof run = (...args) => (args[0] === 'list-members' ? new Promise(() => {}) : run(...args));
    Object.assign(store, { run: silent });
    const over = await send('b', { lifeMs: -1 });
    await start();
    await isClosed('b', over);
  });

  for (const away of ['due', 'steward'] as const) {
    it(`serves all other shards while the node of one hangs, asked for what is ${away} there`, async () => {
      const hung = await send('a', { lifeMs: -1 });
      freeze(shardKeys(stage.space.store.space, shardOf({ workspace, device: 'a' }))[away]);
      await start();
      for (let i = 0; i < 2; i++) await isClosed('b', await send('b', { lifeMs: -1 }));
      expect((await read('a', hung))!.state).to.equal('open');
      stage.thaw();
      await isClosed('a', hung);
    });
  }

  it('goes on with other sends when one cannot be served, and comes back to that one later', async () => {
    const { openSends } = deviceKeys(stage.space.store.space, { workspace, device: 'a' });
    const broken = await send('a', { lifeMs: -1 });
    await stage.space.clients.commands.set(openSends, 'of a wrong type');
    const over = await send('b', { lifeMs: -1 });
    await start();
    await isClosed('b', over);
    await eventually(() => stage.errors.length === 1, soon);
    expect(await dueMs('a', broken)).to.be.above(Date.now() + 50_000);
  });

  it('is one of all senders for each shard, and another one when that has ended', async () => {
    const [first, second] = [await start('sender-1'), await start('sender-2')];
    const all = () => [...first.shards, ...second.shards];
    await eventually(() => all().length === SHARDS, soon);
    expect(new Set(all()).size).to.equal(SHARDS);
    await stage.stewards[0]!.end();
    await eventually(() => second.shards.length === SHARDS, soon);
  });

  it('is replaced in each shard where its session has ended, also while its process lives', async () => {
    const first = await start('sender-1', { ttlMs: 2_000 });
    await eventually(() => first.shards.length === SHARDS, soon);
    const second = await start('sender-2');
    const { redis } = stage.space.store;
    await eventually(async () => (await redis.keys('*:session:sender-2.*')).length === SHARDS, soon);
    await Promise.all((await redis.keys('*:session:sender-1.*')).map((key) => redis.del(key)));
    await eventually(async () => {
      await Promise.all(['sender-1', 'sender-2'].map(beat));
      return second.shards.length > 0 && new Set([...first.shards, ...second.shards]).size === SHARDS;
    }, soon);
  });

  for (const others of ['are served by senders that are full', 'refuse what is asked there'] as const) {
    it(`is found for the last shard, too, where all others ${others}`, async () => {
      const { store } = stage.space;
      const sessions = Array.from({ length: SHARDS - 1 }, (_, shard) => ({ shard, id: `full-${shard}.1` }));
      for (const session of sessions) {
        await openSession(store, session, 60_000);
        if (others !== 'refuse what is asked there') await takeRole(store, session);
        else await store.redis.rpush(shardKeys(store.space, session.shard).steward, 'of a wrong type');
      }
      const beatAll = () => Promise.all(sessions.map(({ id }) => beat(processOf(id))));
      await beatAll();
      const steward = await start();
      await eventually(async () => {
        await beatAll();
        return steward.shards.includes(SHARDS - 1);
      }, soon);
      expect(steward.shards).to.deep.equal([SHARDS - 1]);
    });
  }

  it('is not taken for another one while a session of the same process lives on in Redis', async () => {
    const { store } = stage.space;
    const session = { shard: 5, id: 'sender-1.ended' };
    await openSession(store, session, 60_000);
    await takeRole(store, session);
    // So that nothing is asked again because time has passed.
    stage.stoppedAtMs = 1_000;
    const steward = await start('sender-1');
    await eventually(() => steward.shards.length === SHARDS - 1, soon);
    await endSessions(store, [session]);
    await eventually(async () => {
      await beat('sender-1');
      return steward.shards.includes(5);
    }, soon);
  });
});
