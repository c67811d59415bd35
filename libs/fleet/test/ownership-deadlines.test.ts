import { deviceKeys } from '@gateway/contracts/redis-keys';
import { SessionKeeper } from '@gateway/fleet/session-keeper';
import { FencedError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import { ensureDevice } from '@gateway/store/devices/devices';
import { eventually } from '@gateway/testkit/eventually';
import { giveDeviceBack, renewSessionOf, sessionKeyOf, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };
const logger = createLogger({ service: 'test', level: 'error' });
const TTL_MS = 400;

/**
 * Redis counts the life of an ownership from the moment it runs the step; the process may learn of that much later. So the
 * process counts from before it asks. Here each answer takes 300 of 400 ms by the clock of the process.
 */
describe('an ownership whose answers are slow', () => {
  let space: RedisSpace;
  let now: number;
  let keeper: SessionKeeper;
  let renewals: number;

  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
    now = 0;
    renewals = 0;
    const run: Store['run'] = async (name, keys, args) => {
      const reply = await space.store.run(name, keys, args);
      if (name === 'renew-sessions') renewals += 1;
      if (name === 'renew-sessions' || name === 'open-session') now += 300;
      return reply;
    };
    const clock = { nowMs: () => Date.now(), monotonicMs: () => now };
    keeper = new SessionKeeper({ store: { ...space.store, run }, clock, logger, owner: 'a', ttlMs: TTL_MS });
  });
  afterEach(async () => {
    await keeper.stop();
    await space.close();
  });

  it('ends by the time of the question when it is taken', async () => {
    const held = (await keeper.acquire(address))!;
    now = TTL_MS - 1;
    held.assertHeld();
    now = TTL_MS;
    expect(() => held.assertHeld()).to.throw(FencedError);
  });

  it('ends by the time of the question when it is renewed', async () => {
    const held = (await keeper.acquire(address))!;
    now = 0;
    keeper.start();
    await eventually(() => renewals === 1 && now === 300, { everyMs: 1 });
    now = TTL_MS - 1;
    held.assertHeld();
    now = TTL_MS;
    expect(() => held.assertHeld()).to.throw(FencedError);
  });
});

describe('an ownership in Redis', () => {
  let space: RedisSpace;
  before(async () => {
    space = await openRedisSpace();
  });
  after(() => space.close());

  it('lives as long as its owner asked for, and longer with each renewal', async () => {
    const ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 5_000 }))!;
    const key = sessionKeyOf(space.store, ownership);
    expect(await space.clients.commands.pttl(key)).to.be.within(4_000, 5_000);
    expect(await renewSessionOf(space.store, ownership, 60_000)).to.equal(true);
    expect(await space.clients.commands.pttl(key)).to.be.within(59_000, 60_000);
    await giveDeviceBack(space.store, ownership);
    expect(await space.clients.commands.exists(deviceKeys(space.store.space, address).owner)).to.equal(0);
  });
});
