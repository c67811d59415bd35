import type { Pace } from '@gateway/contracts/devices/pace';
import { PacePlaces } from '@gateway/sender/dispatching/pace-places';
import { expect } from 'chai';
import { useScheduler } from './support/scheduler-stage.js';

const EVEN: Pace = { messagesPerMinute: 60, burst: 1, jitter: 0 };

describe('places in the pace of a device', () => {
  const stage = useScheduler();
  let asked: number;
  let tripMs: number;
  let pace: Pace;
  let ready: number;
  beforeEach(() => {
    [asked, tripMs, pace, ready] = [0, 0, EVEN, 1];
    stage.steps.between = async (_step, run) => {
      asked++;
      stage.leap(tripMs / 2);
      return run().finally(() => stage.leap(tripMs / 2));
    };
  });
  const make = () => {
    const { store, ownership, clock } = stage;
    const distance = {
      get ms() {
        return tripMs;
      },
    };
    return new PacePlaces({ store, ownership, clock, currentPace: () => pace, countReady: () => ready, distance });
  };
  /** Takes all that there are at once. */
  async function takeAll(places: PacePlaces): Promise<{ taken: number; waitMs: number }> {
    for (let taken = 0; ; taken++) {
      const waitMs = await places.take();
      if (waitMs > 0) return { taken, waitMs };
    }
  }

  it('are asked for as many as messages are ready, in one step', async () => {
    [pace, ready] = [{ ...EVEN, burst: 10 }, 10];
    const places = make();
    for (let i = 0; i < 10; i++) expect(await places.take()).to.equal(0);
    expect(asked).to.equal(1);
  });

  it('are not asked for while there can be none', async () => {
    const places = make();
    expect(await takeAll(places)).to.deep.equal({ taken: 1, waitMs: 1_000 });
    stage.leap(400);
    expect(await places.take()).to.equal(600);
    expect(asked).to.equal(1);
    stage.leap(600);
    expect(await places.take()).to.equal(0);
  });

  it('are as many as the pace promises also where Redis is far away', async () => {
    [tripMs, ready] = [50, 26];
    pace = { ...EVEN, messagesPerMinute: 6_000 };
    const places = make();
    const startMs = stage.clock.nowMs();
    const takenAtMs: number[] = [];
    while (stage.clock.nowMs() < startMs + 10_000) {
      const waitMs = await places.take();
      if (waitMs === 0) takenAtMs.push(stage.clock.nowMs() - startMs);
      stage.leap(waitMs);
    }
    expect(takenAtMs.length, 'of 1,000 in ten seconds').to.be.within(970, 1_011);
    const most = takenAtMs.map((ms, i) => takenAtMs.filter((other, k) => k >= i && other < ms + 10).length);
    expect(Math.max(...most), 'in the time of one').to.be.within(1, 8);
  });

  it('that are for a moment to come are used then', async () => {
    [tripMs, ready] = [400, 5];
    const places = make();
    const startMs = stage.clock.nowMs();
    const atMs: number[] = [];
    while (atMs.length < 5) {
      const waitMs = await places.take();
      if (waitMs === 0) atMs.push(stage.clock.nowMs() - startMs);
      stage.leap(waitMs);
    }
    // The first has its time when it is asked for. Each other one is asked for before its time.
    expect(atMs).to.deep.equal([400, 1_000, 2_000, 3_000, 4_000]);
  });

  it('are not more than a burst after a slow answer', async () => {
    [pace, ready, tripMs] = [{ ...EVEN, messagesPerMinute: 300, burst: 26 }, 17, 5_000];
    const places = make();
    expect(await places.take()).to.equal(0);
    tripMs = 5;
    let taken = 1;
    for (const sinceMs = stage.clock.nowMs(); stage.clock.nowMs() < sinceMs + 1_000; ) {
      const waitMs = await places.take();
      if (waitMs === 0) taken++;
      stage.leap(waitMs);
    }
    expect(taken).to.be.within(31, 32);
  });

  it('are one though nothing is counted as ready: a message is that must be alone', async () => {
    ready = 0;
    expect(await make().take()).to.equal(0);
  });

  it('that no message used come on top of nothing', async () => {
    [pace, ready] = [{ ...EVEN, burst: 5 }, 5];
    const places = make();
    await places.take();
    stage.leap(600_000);
    expect((await takeAll(places)).taken).to.equal(5);
  });

  it('are those of another pace from the next message on, and what the former one gave is given back', async () => {
    [pace, ready] = [{ ...EVEN, burst: 5 }, 5];
    const places = make();
    await places.take();
    pace = { ...EVEN, burst: 2 };
    expect((await takeAll(places)).taken, 'one of two was used').to.equal(1);
  });

  it('are given back for the next owner', async () => {
    [pace, ready] = [{ ...EVEN, burst: 5 }, 5];
    const places = make();
    for (let i = 0; i < 2; i++) await places.take();
    await places.giveBack();
    expect((await takeAll(make())).taken).to.equal(3);
    asked = 0;
    await make().giveBack();
    expect(asked, 'nothing is left').to.equal(0);
  });

  it('go ahead though each answer takes longer than they are kept', async () => {
    tripMs = 2_000;
    const places = make();
    expect(await places.take()).to.equal(0);
  });

  it('do not go ahead when a wait is over before its answer comes', async () => {
    await make().take();
    const { between } = stage.steps;
    stage.steps.between = (step, run) => between(step, run).finally(() => stage.leap(5_000));
    const places = make();
    expect(await places.take()).to.equal(1);
    expect(await places.take()).to.equal(0);
    expect(asked).to.equal(3);
  });

  it('are without limit, and not asked for, without a pace', async () => {
    pace = { ...EVEN, messagesPerMinute: 0 };
    const places = make();
    for (let i = 0; i < 100; i++) expect(await places.take()).to.equal(0);
    expect(asked).to.equal(0);
  });
});
