import { memberKeys } from '@gateway/contracts/redis-keys';
import { beatHeart } from '@gateway/store/fleet/members';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

/** What a Redis leaves whose clock was an hour ahead: all that was to end at a time ends an hour later. */
describe('where the clock of Redis was ahead, and has been set right', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  it('a sender that has died is no member for longer than after any other death', async () => {
    const { members } = memberKeys(space.store.space);
    const beat = (ttlMs: number) =>
      beatHeart(space.store, { self: { id: 'alive', held: 0, capacity: 10 }, ttlMs }).then((all) =>
        all.map(({ id }) => id),
      );
    await space.store.redis.zadd(members, Date.now() + HOUR_MS, 'dead');
    expect(await beat(MINUTE_MS), 'it may live').to.deep.equal(['alive', 'dead']);
    await eventually(async () => (await beat(30)).length === 1);
  });
});
