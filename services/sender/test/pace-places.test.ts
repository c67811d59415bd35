import { setImmediate } from 'node:timers/promises';
import type { Pace } from '@gateway/contracts/devices/pace';
import { PacePlaces } from '@gateway/sender/dispatching/pace-places';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { useScheduler } from './support/scheduler-stage.js';

const EVEN: Pace = { messagesPerMinute: 60, burst: 1, jitter: 0 };

describe('places in the pace of a device', () => {
  const stage = useScheduler();
  let asked: number;
  let tripMs: number;
  let pace: Pace;
  let ready: number;
  /** Questions and answers on their way, and when they arrive. */
  let underWay: { atMs: number; arrive: () => void }[];
  let inRedis: number;
  beforeEach(() => {
    [asked, tripMs, pace, ready, underWay, inRedis] = [0, 0, EVEN, 1, [], 0];
    stage.steps.between = async (_step, run) => {
      asked++;
      const halfMs = tripMs / 2;
      await travel(halfMs);
      inRedis++;
      const answer = await run().finally(() => inRedis--);
      await travel(halfMs);
      return answer;
    };
  });
  function travel(ms: number): Promise<void> | undefined {
    if (ms === 0) return undefined;
    return new Promise((arrive) => underWay.push({ atMs: stage.clock.monotonicMs() + ms, arrive }));
  }
  /** Time passes, and what is on its way arrives in its time. */
  async function pass(ms: number): Promise<void> {
    const endMs = stage.clock.monotonicMs() + ms;
    for (;;) {
      await eventually(() => inRedis === 0, { everyMs: 1 });
      const [next] = underWay.sort((one, other) => one.atMs - other.atMs);
      if (!next || next.atMs > endMs) break;
      stage.leap(Math.max(0, next.atMs - stage.clock.monotonicMs()));
      underWay.shift();
      next.arrive();
      await setImmediate();
    }
    stage.leap(Math.max(0, endMs - stage.clock.monotonicMs()));
  }
  /** What a message hears; meanwhile time passes as long as its question is under way. */
  async function take(places: PacePlaces): Promise<number> {
    let waitMs: number | undefined;
    void places.take().then((ms) => {
      waitMs = ms;
    });
    for (;;) {
      await setImmediate();
      await eventually(() => inRedis === 0, { everyMs: 1 });
      await setImmediate();
      if (waitMs !== undefined) return waitMs;
      const nextMs = Math.min(...underWay.map(({ atMs }) => atMs));
      if (Number.isFinite(nextMs)) await pass(Math.max(0, nextMs - stage.clock.monotonicMs()));
    }
  }
  /** When messages go out, from the first question on, that come as soon as they may. */
  async function send(places: PacePlaces, forMs: number): Promise<number[]> {
    const startMs = stage.clock.monotonicMs();
    const sentAtMs: number[] = [];
    while (stage.clock.monotonicMs() < startMs + forMs) {
      const waitMs = await take(places);
      if (waitMs === 0) sentAtMs.push(Math.round(stage.clock.monotonicMs() - startMs));
      else await pass(waitMs);
    }
    return sentAtMs;
  }
  /** By how many messages more than the gaps between them any of them are, which is the burst. */
  function burstOf(sentAtMs: readonly number[], { messagesPerMinute }: Pace): number {
    let [most, fullAtMs] = [0, Number.NEGATIVE_INFINITY];
    const gapMs = 60_000 / messagesPerMinute;
    for (const ms of sentAtMs) {
      fullAtMs = Math.max(fullAtMs, ms) + gapMs;
      most = Math.max(most, (fullAtMs - ms) / gapMs);
    }
    return most;
  }
  const make = () => {
    const { store, ownership, clock } = stage;
    return new PacePlaces({ store, ownership, clock, currentPace: () => pace, countReady: () => ready });
  };
  /** Takes all that there are at once. */
  async function takeAll(places: PacePlaces): Promise<{ taken: number; waitMs: number }> {
    for (let taken = 0; ; taken++) {
      const waitMs = await take(places);
      if (waitMs > 0) return { taken, waitMs };
    }
  }

  it('are asked for several messages in one step, as many as may be under way', async () => {
    [pace, ready, tripMs] = [{ ...EVEN, burst: 60 }, 60, 10];
    const places = make();
    for (let i = 0; i < 60; i++) expect(await take(places)).to.equal(0);
    expect(asked).to.be.within(2, 8);
  });

  for (const farMs of [5, 50, 200])
    it(`are as many as the pace promises also where Redis is ${farMs} ms away, and none comes sooner than it says`, async () => {
      [tripMs, ready] = [farMs, 60];
      pace = { ...EVEN, messagesPerMinute: 6_000 };
      const sentAtMs = await send(make(), 5_000);
      expect(sentAtMs.length, 'of 500 in five seconds').to.be.within(490 - farMs / 4, 501);
      expect(burstOf(sentAtMs, pace)).to.be.at.most(1.55);
    });

  it('are as many within three round trips when Redis moves away', async () => {
    [pace, ready] = [{ ...EVEN, messagesPerMinute: 6_000 }, 60];
    const places = make();
    await send(places, 300);
    tripMs = 200;
    const sentAtMs = await send(places, 5_000);
    expect(sentAtMs.filter((ms) => ms > 600).length, 'of 440').to.be.above(420);
  });

  it('are asked for before their time', async () => {
    tripMs = 400;
    expect(await send(make(), 4_000)).to.deep.equal([400, 1_400, 2_400, 3_400]);
  });

  it('keep the pace after answers that came late: none comes sooner than a gap behind the one before', async () => {
    const places = make();
    const sentAtMs: number[] = [];
    for (const lateMs of [0, 7_000, 0, 1_500, 0, 0]) {
      tripMs = lateMs;
      for (let waitMs = await take(places); waitMs > 0; waitMs = await take(places)) await pass(waitMs);
      sentAtMs.push(stage.clock.monotonicMs());
    }
    expect(burstOf(sentAtMs, pace)).to.be.at.most(1.06);
  });

  it('are not more than a burst around slow answers', async () => {
    [pace, ready] = [{ ...EVEN, messagesPerMinute: 300, burst: 26 }, 60];
    const places = make();
    const sentAtMs: number[] = [];
    for (const [farMs, forMs] of [
      [5, 300],
      [5_000, 10_000],
      [5, 3_000],
      [2_000, 4_000],
      [0, 8_000],
    ] as const) {
      tripMs = farMs;
      const beganMs = stage.clock.monotonicMs();
      sentAtMs.push(...(await send(places, forMs)).map((ms) => beganMs + ms));
    }
    expect(burstOf(sentAtMs, pace)).to.be.within(25, 26.6);
    expect(sentAtMs.length, 'of 26 and 126').to.be.above(110);
  });

  it('are not asked for while there can be none', async () => {
    const places = make();
    expect(await takeAll(places)).to.deep.equal({ taken: 1, waitMs: 1_000 });
    stage.leap(400);
    expect(await take(places)).to.equal(600);
    expect(asked).to.equal(1);
    stage.leap(600);
    expect(await take(places)).to.equal(0);
  });

  it('are one though nothing is counted as ready: a message is that must be alone', async () => {
    ready = 0;
    expect(await take(make())).to.equal(0);
  });

  it('that no message used come on top of nothing', async () => {
    [pace, ready] = [{ ...EVEN, burst: 5 }, 5];
    const places = make();
    await take(places);
    stage.leap(600_000);
    expect((await takeAll(places)).taken).to.equal(5);
  });

  it('are those of another pace from the next message on, and what the former one gave is given back', async () => {
    [pace, ready] = [{ ...EVEN, burst: 5 }, 5];
    const places = make();
    await take(places);
    pace = { ...EVEN, burst: 2 };
    expect((await takeAll(places)).taken, 'one of two was used').to.equal(1);
  });

  it('are those of a faster pace at once, whatever the slower one has still to wait for', async () => {
    pace = { ...EVEN, messagesPerMinute: 1 };
    const places = make();
    expect(await takeAll(places)).to.deep.equal({ taken: 1, waitMs: 60_000 });
    pace = EVEN;
    expect(await take(places)).to.be.within(1, 2_000);
  });

  it('are given back for the next owner', async () => {
    [pace, ready] = [{ ...EVEN, burst: 5 }, 5];
    const places = make();
    for (let i = 0; i < 2; i++) await take(places);
    await places.giveBack();
    expect((await takeAll(make())).taken).to.equal(3);
    asked = 0;
    await make().giveBack();
    expect(asked, 'nothing is left').to.equal(0);
  });

  it('are as many as the pace promises though each message is a moment late', async () => {
    [pace, ready] = [{ ...EVEN, messagesPerMinute: 6_000 }, 60];
    const places = make();
    const beganMs = stage.clock.monotonicMs();
    for (let sent = 0; sent < 500; sent++) {
      for (let waitMs = await take(places); waitMs > 0; waitMs = await take(places)) await pass(waitMs + 2);
    }
    expect(stage.clock.monotonicMs() - beganMs).to.be.within(4_900, 5_050);
  });

  it('are put back by a message that is not the next one after all', async () => {
    const places = make();
    expect(await take(places)).to.equal(0);
    places.putBack();
    expect(await take(places)).to.equal(0);
    expect(await take(places)).to.equal(1_000);
    expect(asked).to.equal(1);
  });

  it('go ahead though each answer takes longer than they are kept', async () => {
    tripMs = 2_000;
    const places = make();
    expect(await take(places)).to.equal(0);
  });

  it('do not go ahead when a wait is over before its answer comes', async () => {
    await take(make());
    const { between } = stage.steps;
    stage.steps.between = (step, run) => between(step, run).finally(() => stage.leap(5_000));
    const places = make();
    expect(await take(places)).to.equal(1);
    expect(await take(places)).to.equal(0);
    expect(asked).to.equal(3);
  });

  it('are without limit, and not asked for, without a pace', async () => {
    pace = { ...EVEN, messagesPerMinute: 0 };
    const places = make();
    for (let i = 0; i < 100; i++) expect(await take(places)).to.equal(0);
    expect(asked).to.equal(0);
  });
});
