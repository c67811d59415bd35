import { type Pace, paceDurationMs } from '@gateway/contracts/devices/pace';
import { FencedError } from '@gateway/runtime/errors';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { readPaceWaitMs, takePace } from '@gateway/store/sends/change-send';
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

  /** How long so many messages take when each is asked for again after as long as was said. */
  async function sendAll(messages: number, pace: Pace): Promise<number> {
    let passedMs = 0;
    for (let sent = 0; sent < messages; ) {
      const waitMs = await take(1_000_000 + passedMs, pace);
      if (waitMs === 0) sent++;
      passedMs += waitMs;
    }
    return passedMs;
  }

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

  it('lets the whole burst out after a rest also under jitter, and no more than it', async () => {
    const bursty = { ...even, burst: 10, jitter: 0.3 };
    for (let day = 1; day <= 20; day++) {
      const nowMs = day * 86_400_000;
      for (let i = 0; i < 10; i++) expect(await take(nowMs, bursty)).to.equal(0);
      expect(await take(nowMs, bursty)).to.be.within(700, 1_300);
    }
  });

  for (const [burst, jitter] of [
    [1, 0.3],
    [1, 1],
    [2, 0.3],
    [2, 1],
    [5, 0.3],
  ] as const) {
    it(`keeps its rate under jitter: a burst of ${burst}, and gaps that vary by ${jitter}`, async () => {
      const uneven = { ...even, burst, jitter };
      const promisedMs = paceDurationMs(uneven, 3_000);
      expect((await sendAll(3_000, uneven)) / promisedMs).to.be.within(0.94, 1.06);
    });
  }

  it('makes gaps uneven once the burst is spent, as without one', async () => {
    const uneven = { ...even, burst: 3, jitter: 1 };
    for (let i = 0; i < 3; i++) await take(1_000_000, uneven);
    const waits = new Set<number>();
    let nowMs = 1_000_000;
    for (let i = 0; i < 20; i++) {
      const waitMs = await take(nowMs, uneven);
      waits.add(waitMs);
      nowMs += waitMs;
    }
    expect(waits.size).to.be.above(5);
  });

  it('tells who only looks the same wait as the next message has, whatever its burst and jitter', async () => {
    for (const burst of [1, 2, 5]) {
      const uneven = { ...even, burst, jitter: 0.3 };
      for (let nowMs = burst * 86_400_000, i = 0; i < 20; i++, nowMs += 400) {
        const lookedMs = await readPaceWaitMs(space.store, address, { pace: uneven, nowMs });
        expect(Math.ceil(lookedMs)).to.equal(await take(nowMs, uneven));
      }
    }
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
