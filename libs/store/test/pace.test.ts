import { type Pace, paceDurationMs } from '@gateway/contracts/devices/pace';
import { FencedError } from '@gateway/runtime/errors';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { type GivenPlaces, readPaceWaitMs, takePlaces } from '@gateway/store/sends/pace';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { takePace } from '@gateway/testkit/sends/take-pace';
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

  describe('of several messages at a time', () => {
    const nowMs = 1_000_000;
    const unusedOf = ({ dues }: GivenPlaces, from: number) => ({ fromMs: dues[from]!, untilMs: dues.at(-1)! });
    const takeSeveral = (request: {
      nowMs?: number;
      most: number;
      pace?: Pace;
      aheadMs?: number;
      usedUntilMs?: number;
      unused?: ReturnType<typeof unusedOf>;
    }) => takePlaces(space.store, ownership, { nowMs, pace: even, aheadMs: 0, ...request });

    it('gives as many places as were asked for, and no more than the burst', async () => {
      const bursty = { ...even, burst: 5 };
      expect((await takeSeveral({ pace: bursty, most: 2 })).waitsMs).to.have.length(2);
      const { waitsMs, askAgainMs } = await takeSeveral({ pace: bursty, most: 10 });
      expect(waitsMs).to.have.length(3);
      expect(Math.max(...waitsMs)).to.be.at.most(0);
      expect(askAgainMs).to.equal(1_000);
    });

    it('gives those that may be used a moment later, and says when there are more', async () => {
      const bursty = { ...even, burst: 2 };
      const { waitsMs, askAgainMs } = await takeSeveral({ pace: bursty, most: 10, aheadMs: 1_500 });
      expect(waitsMs).to.deep.equal([-1_000, 0, 1_000]);
      expect(askAgainMs).to.equal(500);
      const early = await takeSeveral({ pace: bursty, most: 10, aheadMs: 1_500 });
      expect(early).to.deep.include({ waitsMs: [], askAgainMs });
    });

    it('leaves the pace as it was for places that no message used, to the last of them', async () => {
      const uneven = { ...even, burst: 4, jitter: 1 };
      for (const [day, from] of [3, 0, 4].entries()) {
        const request = { pace: uneven, nowMs: nowMs + day * 86_400_000 };
        const places = await takeSeveral({ ...request, most: 7, aheadMs: 2_500 });
        expect(places.waitsMs).to.have.length.above(from);
        const giveBack = () => takeSeveral({ ...request, most: 0, unused: unusedOf(places, from) });
        expect((await giveBack()).dues).to.deep.equal([places.dues[from]]);
        expect((await giveBack()).dues, 'the same step once more').to.deep.equal([places.dues[from]]);
      }
    });

    it('gives places once more that may not be used before so long that they were not', async () => {
      await takeSeveral({ most: 10, aheadMs: 5_000 });
      expect((await takeSeveral({ most: 1 })).askAgainMs).to.equal(2_000);
    });

    it('gives the same places once more when the step runs twice, or later ones', async () => {
      const bursty = { ...even, burst: 9 };
      const first = await takeSeveral({ pace: bursty, most: 6 });
      const request = { pace: bursty, most: 3, unused: unusedOf(first, 3) };
      const second = await takeSeveral(request);
      expect(second.dues).to.deep.equal(first.dues.slice(3));
      const third = await takeSeveral(request);
      expect(third.dues).to.deep.equal(second.dues);
      const { waitsMs } = await takeSeveral({ pace: bursty, most: 9, unused: unusedOf(third, 1) });
      expect(waitsMs, 'four of nine were used').to.have.length(5);
    });

    it('makes up for a message that was late by a moment, and for no longer rest', async () => {
      for (const [lateMs, againMs] of [
        [50, 950],
        [51, 1_000],
      ] as const) {
        const beganMs = nowMs + lateMs * 1_000_000;
        await takeSeveral({ nowMs: beganMs, most: 1 });
        await takeSeveral({ nowMs: beganMs + 1_000 + lateMs, most: 1 });
        const next = await takeSeveral({ nowMs: beganMs + 1_000 + lateMs, most: 1 });
        expect(next).to.deep.include({ waitsMs: [], askAgainMs: againMs });
      }
    });

    it('counts from then on what was used late', async () => {
      await takeSeveral({ most: 1 });
      const late = await takeSeveral({ nowMs: nowMs + 7_000, most: 1, usedUntilMs: nowMs + 8_000 });
      expect(late).to.deep.include({ waitsMs: [], askAgainMs: 1_000 });
    });

    it('takes none back of which others have been given since', async () => {
      const places = await takeSeveral({ most: 1 });
      const next = await takeSeveral({ most: 1, aheadMs: 1_000 });
      const { dues } = await takeSeveral({ most: 0, unused: unusedOf(places, 0) });
      expect(dues).to.deep.equal([next.dues.at(-1)]);
    });

    it('keeps its rate under jitter', async () => {
      const uneven = { ...even, jitter: 1 };
      let passedMs = 0;
      for (let i = 0; i < 100; i++) {
        const { dues } = await takePlaces(space.store, ownership, {
          ...{ pace: uneven, nowMs: nowMs + passedMs, most: 30, aheadMs: 60_000 },
        });
        passedMs = Number(dues.at(-1)) - nowMs;
      }
      expect(passedMs / paceDurationMs(uneven, 3_000)).to.be.within(0.94, 1.06);
    });
  });
});
