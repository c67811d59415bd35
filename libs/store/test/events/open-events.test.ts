import { shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import type { Store } from '@gateway/store/core/store';
import { closeUnwanted } from '@gateway/store/events/close-unwanted';
import {
  areEventsOpen,
  closeEvents,
  listEventWorkspaces,
  mendEvents,
  openEvents,
} from '@gateway/store/events/open-events';
import { noteReading } from '@gateway/store/events/read-log';
import { boundLog } from '@gateway/store/events/relay-outbox';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const DAY_MS = 86_400_000;

describe('the events of a workspace, opened and closed', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());
  const keys = () => workspaceKeys(space.store.space, 'main');
  const outboxes = () =>
    Array.from({ length: SHARDS }, (_, shard) => shardKeys(space.store.space, shard).outbox('main'));
  const count = async (all: readonly string[]) =>
    (await Promise.all(all.map((key) => space.store.redis.exists(key)))).filter((found) => found === 1).length;
  const inDays = (days: number) => Date.now() + days * DAY_MS;

  /** A store that runs `act` before its n-th write, on any of its ways to Redis. */
  function before(n: number, act: () => Promise<void>): { store: Store; writes: () => number } {
    let writes = 0;
    const step = async () => {
      if (++writes === n) await act();
    };
    const { redis, run } = space.store;
    const watched = Object.create(redis, {
      ...Object.fromEntries(
        (['hdel', 'unlink', 'srem'] as const).map((name) => [
          name,
          {
            value: async (...args: string[]) => {
              await step();
              return (redis[name] as (...all: string[]) => Promise<unknown>)(...args);
            },
          },
        ]),
      ),
    });
    const store = {
      ...space.store,
      redis: watched,
      run: async (...args: Parameters<typeof run>) => {
        await step();
        return run(...args);
      },
    };
    return { store, writes: () => writes };
  }

  it('end when there is no webhook and no one has read them for a week', async () => {
    const { eventLog, eventMarks, webhooks } = keys();
    await openEvents(space.store, 'main');
    await space.store.redis.hset(eventMarks, 'openedAtMs', inDays(-8));
    await noteReading(space.store, 'main');
    expect(await closeUnwanted(space.store, 'main', inDays(6.9))).to.equal(false);
    await space.store.redis.sadd(webhooks, 'wh_x');
    expect(await closeUnwanted(space.store, 'main', inDays(8))).to.equal(false);
    await space.store.redis.del(webhooks);
    expect(await count([eventLog, ...outboxes()])).to.equal(1 + SHARDS);
    expect(await closeUnwanted(space.store, 'main', inDays(8))).to.equal(true);
    expect(await count([eventLog, eventMarks, ...outboxes()])).to.equal(0);
    expect(await listEventWorkspaces(space.store)).to.deep.equal([]);
  });

  it('leave nothing behind, wherever the process dies that ends them', async () => {
    const { eventLog, eventMarks } = keys();
    let died = true;
    for (let n = 1; died; n++) {
      await openEvents(space.store, 'main');
      const { store } = before(n, () => Promise.reject(new Error('killed')));
      died = await closeUnwanted(store, 'main', inDays(8)).then(
        () => false,
        () => true,
      );
      // The next look around, if there is anything to look at.
      for (const workspace of await listEventWorkspaces(space.store))
        await closeUnwanted(space.store, workspace, inDays(9));
      expect(await listEventWorkspaces(space.store), `before write ${n}`).to.deep.equal([]);
      expect(await count([eventLog, eventMarks, ...outboxes()]), `before write ${n}`).to.equal(0);
      if (!died) expect(n).to.be.above(SHARDS);
    }
  });

  it('are open for those who open them while others end them', async () => {
    await openEvents(space.store, 'main');
    const { store: counting, writes } = before(0, async () => {});
    await closeEvents(counting, 'main');
    // Before the first line they are open, and stay what they are.
    for (const n of [2, 3, SHARDS, SHARDS + 1, SHARDS + 2, writes()]) {
      await openEvents(space.store, 'main');
      const closing = before(n, () => openEvents(space.store, 'main'));
      expect(await closeEvents(closing.store, 'main'), `before write ${n}`).to.equal(false);
      expect(await areEventsOpen(space.store, 'main')).to.equal(true);
      expect(await count([keys().eventLog, ...outboxes()]), `before write ${n}`).to.equal(1 + SHARDS);
      expect(await listEventWorkspaces(space.store)).to.deep.equal(['main']);
    }
  });

  it('have all outboxes again when Redis has lost one', async () => {
    await openEvents(space.store, 'main');
    const [first] = outboxes();
    await space.store.redis.del(first!);
    await mendEvents(space.store, 'main');
    expect(await count(outboxes())).to.equal(SHARDS);
  });

  it('are dropped for room, the oldest first, and what is gone never comes back, however many processes do it', async () => {
    await openEvents(space.store, 'main');
    const { eventLog, eventMarks } = keys();
    for (let i = 0; i < 40; i++) {
      await addOptOuts(space.store, 'main', { numbers: [`4477009000${10 + i}`], source: 'api', atMs: Date.now() });
    }
    const gone = () => space.store.redis.hget(eventMarks, 'goneTo');
    // A process that has chosen what goes, and stands still until others have gone further.
    const slow = before(1, async () => {
      for (let i = 0; i < 3; i++) expect(await boundLog(space.store, 'main', 1)).to.equal(true);
    });
    const ids = (await space.store.redis.xrange(eventLog, '-', '+')).map(([id]) => id);
    expect(await boundLog(slow.store, 'main', 1)).to.equal(false);
    const [oldest] = (await space.store.redis.xrange(eventLog, '-', '+', 'COUNT', 1))[0]!;
    expect(await gone()).to.equal(ids[ids.indexOf(oldest) - 1]);
  });
});
