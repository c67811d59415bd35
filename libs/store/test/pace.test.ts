import type { Pace } from '@gateway/contracts/devices/pace';
import { FencedError } from '@gateway/runtime/errors';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { takePace } from '@gateway/store/sends/change-send';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };
const even: Pace = { messagesPerMinute: 60, burst: 1, jitter: 0 };

describe('the pace of a device', () => {
  let space: RedisSpace;
  let ownership: Ownership;

  beforeEach(async () => {
    space = await openRedisSpace();
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
  });
  afterEach(() => space.close());

  const take = (nowMs: number, pace = even) => takePace(space.store, ownership, { pace, nowMs });

  it('lets one message out per gap, and says how long to wait for the next', async () => {
    expect(await take(1_000_000)).to.equal(0);
    expect(await take(1_000_400)).to.equal(600);
    expect(await take(1_001_000)).to.equal(0);
  });

  it('lets a burst out after a rest, and no more than it', async () => {
    const bursty = { ...even, burst: 3 };
    for (let i = 0; i < 3; i++) expect(await take(1_000_000, bursty)).to.equal(0);
    expect(await take(1_000_000, bursty)).to.equal(1_000);
  });

  it('is kept over a hand-over, and refuses a stale owner', async () => {
    await take(1_000_000);
    await giveDeviceBack(space.store, ownership);
    const stale = ownership;
    ownership = (await takeDevice(space.store, address, { owner: 'b', ttlMs: 60_000 }))!;
    expect(await take(1_000_100)).to.equal(900);
    const refused = await takePace(space.store, stale, { pace: even, nowMs: 2_000_000 }).catch((thrown) => thrown);
    expect(refused).to.be.instanceOf(FencedError);
  });

  it('keeps its rate under jitter', async () => {
    const uneven = { ...even, jitter: 1 };
    let sent = 0;
    for (let now = 0; now < 300_000; now += 200) if ((await take(1_000_000 + now, uneven)) === 0) sent++;
    expect(sent).to.be.within(200, 350);
  });

  it('does not stand still after a clock that was an hour ahead', async () => {
    await take(1_000_000 + 3_600_000);
    const waitMs = await take(1_000_000);
    expect(waitMs).to.be.at.most(2_000);
    expect(await take(1_000_000 + waitMs)).to.equal(0);
  });

  it('is the new one at once when an operator makes it faster', async () => {
    await take(1_000_000, { ...even, messagesPerMinute: 1 / 60 });
    const waitMs = await take(1_000_000);
    expect(waitMs).to.be.at.most(2_000);
    expect(await take(1_000_000 + waitMs)).to.equal(0);
  });

  it('is no limit at all with 0 messages per minute', async () => {
    for (let i = 0; i < 3; i++) expect(await take(1, { messagesPerMinute: 0, burst: 1, jitter: 0 })).to.equal(0);
  });
});
