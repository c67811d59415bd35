import { shardKeys } from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import { isCluster } from '@gateway/runtime/redis/redis-nodes';
import { openEvents } from '@gateway/store/events/open-events';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const WORKSPACES = ['a', 'b', 'c'];
/** Later than what the streams begin with. */
const LATER_MS = Date.now() + 24 * 3_600_000;

describe('a look at all outboxes', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
    for (const workspace of WORKSPACES) await openEvents(space.store, workspace);
  });
  afterEach(() => space.close());

  const outbox = (workspace: string, shard: number) => shardKeys(space.store.space, shard).outbox(workspace);

  it('finds what they hold and since when, at the price of one step for each workspace, or for each shard if those are fewer', async () => {
    const { redis } = space.store;
    for (const time of [LATER_MS, LATER_MS + 1]) await redis.xadd(outbox('b', 5), `${time}-0`, 'e', 'x');
    await redis.xadd(outbox('c', 5), `${LATER_MS + 2}-3`, 'e', 'x');
    await redis.del(outbox('a', 63));
    const ran: string[] = [];
    const counted = new Proxy(space.store, {
      get: (store, name) => {
        if (name !== 'run') return Reflect.get(store, name);
        return (...call: Parameters<typeof store.run>) => {
          ran.push(call[0]);
          return store.run(...call);
        };
      },
    });
    expect(await findFullOutboxes(counted, ...WORKSPACES)).to.deep.equal([
      { workspace: 'b', shard: 5, entries: 2, oldestMs: LATER_MS },
      { workspace: 'c', shard: 5, entries: 1, oldestMs: LATER_MS + 2 },
    ]);
    // On a Cluster a step is of one shard.
    const fewest = isCluster(redis) ? SHARDS : WORKSPACES.length;
    expect(ran).to.deep.equal(Array.from({ length: fewest }, () => 'find-full-outboxes'));
    const many = [...WORKSPACES, ...Array.from({ length: SHARDS }, (_, i) => `more-${i}`)];
    ran.length = 0;
    expect((await findFullOutboxes(counted, ...many)).filter(({ entries }) => entries > 0)).to.have.length(2);
    expect(ran).to.have.length(SHARDS);
  });

  it('finds one that is no stream, and those of others beside it', async () => {
    const { redis } = space.store;
    await redis.del(outbox('a', 0));
    await redis.set(outbox('a', 0), 'no stream');
    await redis.xadd(outbox('b', 0), `${LATER_MS}-0`, 'e', 'x');
    expect(await findFullOutboxes(space.store, ...WORKSPACES)).to.deep.equal([
      { workspace: 'a', shard: 0, entries: 0, oldestMs: undefined },
      { workspace: 'b', shard: 0, entries: 1, oldestMs: LATER_MS },
    ]);
  });

  it('is none without workspaces', async () => {
    expect(await findFullOutboxes(space.store)).to.deep.equal([]);
  });
});
