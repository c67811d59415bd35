import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { readWorkspaceLimits, setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

describe('the limits of a workspace', () => {
  let space: RedisSpace;
  before(async () => {
    space = await openRedisSpace();
  });
  after(() => space.close());
  const read = (workspace = 'shop') => readWorkspaceLimits(space.store, workspace);
  const set = (limits: Parameters<typeof setWorkspaceLimits>[2]) => setWorkspaceLimits(space.store, 'shop', limits);

  it('are those that were set, each by itself, until they are taken away', async () => {
    expect(await read()).to.deep.equal({});
    const all = { devices: 3, backlog: 0, fileBytes: 5_000_000_000, optOuts: 7 };
    await set(all);
    expect(await read()).to.deep.equal(all);
    expect(await read('shop-2'), 'of another').to.deep.equal({});
    await set({ devices: undefined, backlog: 9 });
    expect(await read()).to.deep.equal({ backlog: 9, fileBytes: 5_000_000_000, optOuts: 7 });
    await set({ devices: undefined });
    expect(await read(), 'taken away again').to.deep.equal({ backlog: 9, fileBytes: 5_000_000_000, optOuts: 7 });
  });

  it('are read by a version that does not know one of them', async () => {
    await space.store.redis.hset(workspaceKeys(space.store.space, 'shop').limits, 'ofTomorrow', 1);
    expect(await read()).not.to.have.property('ofTomorrow');
  });
});
