import type { Doorbell } from '@gateway/contracts/doorbell';
import { shortDeviceId } from '@gateway/contracts/ids';
import type { SendJob } from '@gateway/contracts/jobs';
import { deviceKeys, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { SHARDS, shardOf } from '@gateway/contracts/shards';
import { SessionKeeper } from '@gateway/fleet/session-keeper';
import type { Producer } from '@gateway/queue/producer';
import { systemClock } from '@gateway/runtime/clock';
import { createLogger } from '@gateway/runtime/logs/logger';
import { Steward } from '@gateway/sender/fleet/steward';
import { DoorbellListener, ringDoorbell } from '@gateway/store/core/doorbells';
import { ensureDevice, findDeviceByShortId, listDevices } from '@gateway/store/devices/devices';
import { beatHeart, leaveMembers } from '@gateway/store/fleet/members';
import { endSessions, openSession } from '@gateway/store/fleet/ownership';
import { processOf } from '@gateway/store/fleet/process-of';
import { takeRole } from '@gateway/store/fleet/shards/take-role';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend } from '@gateway/store/sends/change-send';
import { readSend } from '@gateway/store/sends/read-send';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { takeInSend } from '@gateway/testkit/sends/take-in-send';
import { expect } from 'chai';

const workspace = 'main';
const errors: string[] = [];
const logger = {
  ...createLogger({ service: 'test', level: 'error' }),
  warn: () => {},
  error: (line: string) => void errors.push(line),
};
const soon = { everyMs: 5 };

describe('the steward of shards', () => {
  let space: RedisSpace;
  let stewards: { steward: Steward; end: () => Promise<void> }[];
  let jobs: { processId: string; job: SendJob; options: { again: boolean } | undefined }[];
  /** How far the clocks of the processes are ahead. */
  let aheadMs: number;
  /** Where the monotonic clock stands still. */
  let stoppedAtMs: number | undefined;
  /** What becomes of a job, once it is noted. */
  let adding: () => Promise<void>;
  /** The node of these keys answers again. */
  let thaw: () => void;

  beforeEach(async () => {
    space = await openRedisSpace();
    [stewards, jobs, aheadMs, errors.length] = [[], [], 0, 0];
    stoppedAtMs = undefined;
    [adding, thaw] = [async () => {}, () => {}];
    for (const device of ['a', 'b']) await ensureDevice(space.store, { workspace, device });
  });
  afterEach(async () => {
    thaw();
    await Promise.all(stewards.map(({ end }) => end()));
    await space.close();
  });

  async function start(owner = 'sender-1', { ttlMs = 60_000 } = {}): Promise<Steward> {
    const { store } = space;
    const clock = {
      nowMs: () => Date.now() + aheadMs,
      monotonicMs: () => stoppedAtMs ?? systemClock.monotonicMs(),
    };
    const keeper = new SessionKeeper({ store, clock, logger, owner, ttlMs });
    keeper.start();
    await beat(owner);
    const producer: Producer = {
      addSend: (processId, job, options) => {
        jobs.push({ processId, job, options });
        return adding();
      },
      close: async () => {},
    };
    const steward = new Steward({ store, keeper, producer, clock, logger, tickMs: 5, mendMs: 100, turnMs: 100 });
    let ended: Promise<void> | undefined;
    const end = () =>
      (ended ??= (async () => {
        await steward.stop();
        await keeper.stop();
        await leaveMembers(store, owner);
      })());
    stewards.push({ steward, end });
    return steward;
  }
  const beat = (id: string) => beatHeart(space.store, { self: { id, held: 0, capacity: 10 }, ttlMs: 60_000 });
  async function send(device: string, { lifeMs = 60_000 } = {}): Promise<string> {
    const { messageId } = await acceptSend(
      space.store,
      { workspace, device },
      {
        ...{ kind: 'text', priority: 'bulk', content: { kind: 'text', text: 'hello' }, parts: 1 },
        ...{ recipients: ['491511'], owner: 't', requestId: 'r' },
        ...{ nowMs: Date.now(), expiresAtMs: Date.now() + lifeMs },
      },
    );
    return messageId;
  }
  const read = (device: string, messageId: string) => readSend(space.store, { workspace, device }, messageId);
  const isClosed = (device: string, messageId: string) =>
    eventually(async () => (await read(device, messageId))?.state === 'closed', soon);
  const dueMs = async (device: string, messageId: string) => {
    const { tag } = (await read(device, messageId))!;
    const { due } = shardKeys(space.store.space, shardOf({ workspace, device }));
    return Number(await space.store.redis.zscore(due, `${workspace}/${device}/${tag}`));
  };
  const own = async (device: string) =>
    (await takeDevice(space.store, { workspace, device }, { owner: 'sender-7', ttlMs: 60_000 }))!;

  it('ends what is over on a device without an owner, and owns nothing for it', async () => {
    const [over, going] = [await send('a', { lifeMs: -1 }), await send('a')];
    await start();
    await isClosed('a', over);
    expect((await read('a', over))!.counts).to.include({ expired: 1 });
    expect((await read('a', going))!.state).to.equal('open');
    const { epoch, owner } = deviceKeys(space.store.space, { workspace, device: 'a' });
    expect(await space.clients.commands.exists(epoch, owner)).to.equal(0);
  });

  it('ends it beside a living owner, too', async () => {
    const ownership = await own('a');
    const over = await send('a', { lifeMs: 50 });
    await takeInSend(space.store, ownership, { tag: (await read('a', over))!.tag, nowMs: Date.now() });
    await start();
    await isClosed('a', over);
  });

  it('wakes an owner that has not taken a send in after two seconds, and then less and less often', async () => {
    await own('a');
    const messageId = await send('a');
    await start();
    await eventually(() => stewards[0]!.steward.shards.length === SHARDS, soon);
    expect(jobs).to.deep.equal([]);
    aheadMs = 2_500;
    await eventually(() => jobs.length === 1, soon);
    expect(jobs[0]).to.deep.equal({
      options: { again: true },
      processId: 'sender-7',
      job: { v: 1, workspace, device: 'a', messageId, priority: 'bulk', requestId: 'r' },
    });
    const { createdAtMs } = (await read('a', messageId))!;
    // It waits once more as long as it has waited then.
    const waitedMs = async () => ((await dueMs('a', messageId)) - createdAtMs) / 2;
    expect(await waitedMs()).to.be.within(aheadMs, aheadMs + Date.now() - createdAtMs);
    aheadMs = 10_000;
    await eventually(() => jobs.length === 2, soon);
    expect(await waitedMs()).to.be.within(aheadMs, aheadMs + Date.now() - createdAtMs);
  });

  for (const [what, outcome] of [
    ['hangs', () => new Promise<void>(() => {})],
    ['fails', () => Promise.reject(new Error('its node is away'))],
  ] as const) {
    it(`tells an owner by a doorbell when its queue ${what}, and goes on with the other sends of the shard`, async () => {
      const listener = await DoorbellListener.listen(space.clients.subscriber, space.store.space);
      const bells: Doorbell[] = [];
      listener.on((bell) => void bells.push(bell));
      adding = outcome;
      await own('a');
      await send('a');
      aheadMs = 2_500;
      await start();
      await eventually(() => bells.length > 0, soon);
      expect(bells[0]).to.deep.equal({ topic: 'sends', workspace, device: 'a' });
      await isClosed('a', await send('a', { lifeMs: 50 }));
      expect(errors).to.deep.equal([]);
      listener.close();
    });
  }

  it('rings a doorbell, too, for a send that is not taken in after that, and no more than one for all of a device: its worker may take no jobs', async () => {
    const listener = await DoorbellListener.listen(space.clients.subscriber, space.store.space);
    const bells: Doorbell[] = [];
    listener.on((bell) => void bells.push(bell));
    await own('a');
    for (let i = 0; i < 3; i++) await send('a');
    await start();
    aheadMs = 2_500;
    await eventually(() => jobs.length === 3, soon);
    expect(bells).to.deep.equal([]);
    aheadMs = 10_000;
    await eventually(() => jobs.length === 6 && bells.length > 0, soon);
    await ringDoorbell(space.store, { topic: 'sends', workspace, device: 'b' });
    await eventually(() => bells.some(({ device }) => device === 'b'), soon);
    expect(bells.map(({ device }) => device)).to.deep.equal(['a', 'b']);
    listener.close();
  });

  it('has a hundred jobs at most that wait for queues, and tells owners of further sends by doorbells alone', async () => {
    const listener = await DoorbellListener.listen(space.clients.subscriber, space.store.space);
    let bells = 0;
    listener.on(() => void bells++);
    adding = () => new Promise<void>(() => {});
    await own('a');
    for (let i = 0; i < 110; i++) await send('a');
    aheadMs = 2_500;
    await start();
    await eventually(() => bells >= 110, soon);
    expect(jobs).to.have.length(100);
    listener.close();
  });

  it('leaves a send to its owner that has taken it in, and one without an owner to the next', async () => {
    const ownership = await own('a');
    const [taken, waiting] = [await send('a'), await send('b')];
    const { tag, expiresAtMs } = (await read('a', taken))!;
    await takeInSend(space.store, ownership, { tag, nowMs: Date.now() });
    aheadMs = 2_500;
    await start();
    const endMs = (await read('b', waiting))!.expiresAtMs;
    await eventually(async () => (await dueMs('b', waiting)) === endMs, soon);
    expect(await dueMs('a', taken)).to.equal(expiresAtMs);
    expect(jobs).to.deep.equal([]);
  });

  it('releases the files of sends that have ended', async () => {
    const address = { workspace, device: 'a' };
    const medium = { type: 'document', mimeType: 'text/plain', sizeBytes: 4, blob: 'hash', blobHolder: 'h' } as const;
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'media', priority: 'bulk', content: { kind: 'media', ...medium }, parts: 1, recipients: ['491511'] },
      ...{ owner: 't', requestId: 'r', nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
    await cancelSend(space.store, address, messageId);
    const { releasedBlobs } = deviceKeys(space.store.space, address);
    const { due } = shardKeys(space.store.space, shardOf(address));
    expect(await space.store.redis.exists(releasedBlobs)).to.equal(1);
    expect(await space.store.redis.zcount(due, 0, Date.now()), 'not only once the shard is mended').to.equal(1);
    await start();
    await eventually(async () => (await space.store.redis.exists(releasedBlobs, due)) === 0, soon);
  });

  it('finds what is open and not due, and files to release, as when the index was lost', async () => {
    const ownership = await own('a');
    const [taken, untaken, over] = [await send('a'), await send('a'), await send('b', { lifeMs: 300 })];
    await takeInSend(space.store, ownership, { tag: (await read('a', taken))!.tag, nowMs: Date.now() });
    const { releasedBlobs } = deviceKeys(space.store.space, { workspace, device: 'a' });
    await space.store.redis.sadd(releasedBlobs, 'hash:4:holder');
    await start();
    await eventually(() => stewards[0]!.steward.shards.length === SHARDS, soon);
    const indexes = ['a', 'b'].map((device) => shardKeys(space.store.space, shardOf({ workspace, device })).due);
    await Promise.all(indexes.map((index) => space.store.redis.unlink(index)));
    await eventually(() => jobs.length === 2, soon);
    expect(jobs.map(({ job }) => job.messageId)).to.have.members([taken, untaken]);
    await isClosed('b', over);
    expect((await read('b', over))!.counts).to.include({ expired: 1 });
    await eventually(async () => (await space.store.redis.exists(releasedBlobs)) === 0, soon);
  });

  /** What asks for this key has no answer before `thaw`. */
  function freeze(key: string): void {
    const { store } = space;
    const thawed = new Promise<void>((resolve) => {
      thaw = resolve;
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
    const { store } = space;
    await createWorkspace(store, workspace);
    const { devices, shortDeviceIds } = workspaceKeys(store.space, workspace);
    await store.redis.srem(devices, 'a');
    await store.redis.hdel(shortDeviceIds, shortDeviceId({ workspace, device: 'a' }));
    await start();
    await eventually(async () => (await listDevices(store, workspace)).includes('a'), soon);
    expect(await findDeviceByShortId(store, workspace, shortDeviceId({ workspace, device: 'a' }))).to.equal('a');
  });

  it('mends all other shards while the node of one hangs', async () => {
    const [a, b] = ['a', 'b'].map((device) => shardKeys(space.store.space, shardOf({ workspace, device }))) as [
      ReturnType<typeof shardKeys>,
      ReturnType<typeof shardKeys>,
    ];
    freeze(a.devices);
    await start();
    await eventually(() => stewards[0]!.steward.shards.length === SHARDS, soon);
    const over = await send('b', { lifeMs: 50 });
    await space.store.redis.unlink(b.due);
    await isClosed('b', over);
  });

  it('asks nothing of a shard in which nothing is due soon, at every other tick', async () => {
    let looks = 0;
    let rounds = 0;
    const { store } = space;
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
    stoppedAtMs = 1;
    await start();
    await eventually(() => looks >= SHARDS, soon);
    rounds = 0;
    await eventually(() => rounds === 3, soon);
    expect(looks).to.equal(SHARDS);
    stoppedAtMs += 8;
    await eventually(() => looks === 2 * SHARDS, soon);
  });

  it('serves shards that have no steward while the list of senders does not answer', async () => {
    const { store } = space;
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
      freeze(shardKeys(space.store.space, shardOf({ workspace, device: 'a' }))[away]);
      await start();
      for (let i = 0; i < 2; i++) await isClosed('b', await send('b', { lifeMs: -1 }));
      expect((await read('a', hung))!.state).to.equal('open');
      thaw();
      await isClosed('a', hung);
    });
  }

  it('goes on with other sends when one cannot be served, and comes back to that one later', async () => {
    const { openSends } = deviceKeys(space.store.space, { workspace, device: 'a' });
    const broken = await send('a', { lifeMs: -1 });
    await space.clients.commands.set(openSends, 'of a wrong type');
    const over = await send('b', { lifeMs: -1 });
    await start();
    await isClosed('b', over);
    await eventually(() => errors.length === 1, soon);
    expect(await dueMs('a', broken)).to.be.above(Date.now() + 50_000);
  });

  it('is one of all senders for each shard, and another one when that has ended', async () => {
    const [first, second] = [await start('sender-1'), await start('sender-2')];
    const all = () => [...first.shards, ...second.shards];
    await eventually(() => all().length === SHARDS, soon);
    expect(new Set(all()).size).to.equal(SHARDS);
    await stewards[0]!.end();
    await eventually(() => second.shards.length === SHARDS, soon);
  });

  it('is replaced in each shard where its session has ended, also while its process lives', async () => {
    const first = await start('sender-1', { ttlMs: 2_000 });
    await eventually(() => first.shards.length === SHARDS, soon);
    const second = await start('sender-2');
    const { redis } = space.store;
    await eventually(async () => (await redis.keys('*:session:sender-2.*')).length === SHARDS, soon);
    await Promise.all((await redis.keys('*:session:sender-1.*')).map((key) => redis.del(key)));
    await eventually(async () => {
      await Promise.all(['sender-1', 'sender-2'].map(beat));
      return second.shards.length > 0 && new Set([...first.shards, ...second.shards]).size === SHARDS;
    }, soon);
  });

  for (const others of ['are served by senders that are full', 'refuse what is asked there'] as const) {
    it(`is found for the last shard, too, where all others ${others}`, async () => {
      const { store } = space;
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
    const { store } = space;
    const session = { shard: 5, id: 'sender-1.ended' };
    await openSession(store, session, 60_000);
    await takeRole(store, session);
    // So that nothing is asked again because time has passed.
    stoppedAtMs = 1_000;
    const steward = await start('sender-1');
    await eventually(() => steward.shards.length === SHARDS - 1, soon);
    await endSessions(store, [session]);
    await eventually(async () => {
      await beat('sender-1');
      return steward.shards.includes(5);
    }, soon);
  });
});
