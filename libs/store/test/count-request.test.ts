import { LIMITS } from '@gateway/contracts/limits';
import { countRequestOfAddress, countRequestOfToken } from '@gateway/store/limits/count-request';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const WINDOW_MS = LIMITS.rateLimitWindowSeconds * 1000;

for (const [who, count] of Object.entries({ token: countRequestOfToken, address: countRequestOfAddress })) {
  describe(`the count of requests of a ${who}`, () => {
    let space: RedisSpace;
    const counter = (name = 'a') => `${space.prefix}:limit:${name}`;
    beforeEach(async () => {
      space = await openRedisSpace();
    });
    afterEach(() => space.close());

    it('counts each of those that come at once, and no other counter', async () => {
      const counted = await Promise.all(Array.from({ length: 20 }, () => count(space.store, counter())));
      expect(counted.map(({ requests }) => requests).sort((a, b) => a - b)).to.deep.equal(
        Array.from({ length: 20 }, (_, i) => i + 1),
      );
      expect(await count(space.store, counter('b'))).to.include({ requests: 1 });
    });

    it('ends its window a minute after the first, whatever comes meanwhile', async () => {
      const first = await count(space.store, counter());
      expect(first).to.deep.equal({ requests: 1, leftMs: WINDOW_MS });
      await space.store.redis.pexpire(counter(), 5_000);
      const { requests, leftMs } = await count(space.store, counter());
      expect(requests).to.equal(2);
      expect(leftMs).to.be.within(1, 5_000);
      await space.store.redis.pexpire(counter(), 0);
      expect(await count(space.store, counter())).to.deep.equal(first);
    });

    it('ends its window within a minute also where the clock of Redis was ahead when it began', async () => {
      await count(space.store, counter());
      await space.store.redis.pexpire(counter(), WINDOW_MS + 3_600_000);
      expect(await count(space.store, counter())).to.deep.equal({ requests: 2, leftMs: WINDOW_MS });
      expect(await space.store.redis.pttl(counter())).to.be.within(1, WINDOW_MS);
    });

    it('never goes on for ever: a counter without an end gets one', async () => {
      await space.store.redis.set(counter(), 7);
      expect(await count(space.store, counter())).to.deep.equal({ requests: 8, leftMs: WINDOW_MS });
      expect(await space.store.redis.pttl(counter())).to.be.within(1, WINDOW_MS);
    });
  });
}
