import { systemClock } from '@gateway/runtime/clock';
import { FencedError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import { LeaseKeeper } from '@gateway/store/fleet/lease-keeper';
import { renewLease } from '@gateway/store/fleet/leases';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const ADDRESSES = ['a', 'b'].map((device) => ({ workspace: 'main', device }));
const TTL_MS = 1_200;

describe('the leases of a process', () => {
  let space: RedisSpace;
  let keeper: LeaseKeeper;
  let isRedisAway: boolean;
  let aheadMs: number;

  beforeEach(async () => {
    space = await openRedisSpace();
    [isRedisAway, aheadMs] = [false, 0];
    const run: Store['run'] = async (name, keys, args) => {
      if (isRedisAway) throw new Error('away');
      return space.store.run(name, keys, args);
    };
    const logger = createLogger({ service: 'test', level: 'silent' as 'error' });
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    keeper = new LeaseKeeper({ store: { ...space.store, run }, clock, logger, owner: 'a', ttlMs: TTL_MS });
  });
  afterEach(async () => {
    keeper.stop();
    await space.close();
  });

  const takeBoth = async () =>
    (await Promise.all(ADDRESSES.map((address) => keeper.acquire(address)))).map((all) => all!);

  it('are all given up with it', async () => {
    const held = await takeBoth();
    keeper.stop();
    for (const lease of held) {
      expect(lease.lost.aborted).to.equal(true);
      expect(() => lease.assertHeld()).to.throw(FencedError);
    }
  });

  it('that others have are noticed with the next beat, and the rest goes on', async () => {
    const [lost, kept] = await takeBoth();
    await space.store.redis.set(`${space.prefix}:{#34}:main/a:lease`, 'b:2');
    keeper.start();
    await eventually(() => lost!.lost.aborted);
    expect(() => lost!.assertHeld()).to.throw(FencedError);
    kept!.assertHeld();
  });

  it('that were not renewed in time are not renewed at all', async () => {
    const [late] = await takeBoth();
    aheadMs = TTL_MS;
    const ttlMs = await space.store.redis.pttl(`${space.prefix}:{#34}:main/a:lease`);
    keeper.start();
    await eventually(() => late!.lost.aborted);
    expect(await space.store.redis.pttl(`${space.prefix}:{#34}:main/a:lease`)).to.be.at.most(ttlMs);
  });

  it('are over for the process when they are given back without Redis, and end there by themselves', async () => {
    const [lease] = await takeBoth();
    isRedisAway = true;
    await keeper.release(lease!);
    expect(lease!.lost.aborted).to.equal(true);
    expect(await renewLease(space.store, lease!, TTL_MS), 'still there').to.equal(true);
  });
});
