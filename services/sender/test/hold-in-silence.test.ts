import { deviceKeys } from '@gateway/contracts/redis-keys';
import type { NewContactHold } from '@gateway/sender/holding/new-contact-hold';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { ADDRESS, MINUTE_MS, useHoldStage } from './support/hold-stage.js';

describe('the hold of messages to new contacts, when the network does not answer', () => {
  const { stage, session, makeHold, attached, answered, stored } = useHoldStage();

  it('holds, and asks again', async () => {
    const hold = attached();
    stage.said = new Error('silence');
    expect(await hold.wasRefused('17', 463)).to.equal(true);
    const { nowMs } = stage;
    expect(await stored()).to.deep.equal({ kind: 'reach_out_time_lock', sinceMs: nowMs, silentSinceMs: nowMs });
    stage.said = undefined;
    stage.nowMs += 5_000;
    hold.tick();
    await eventually(() => !hold.isOn);
  });

  it('asks after pauses that double, up to a quarter of an hour', async () => {
    const hold = attached();
    stage.said = new Error('silence');
    await hold.wasRefused('17', 463);
    for (const seconds of [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]) {
      const before = stage.questions;
      stage.nowMs += seconds * 1000 - 1;
      hold.tick();
      expect(stage.questions, `before ${seconds} s`).to.equal(before);
      stage.nowMs += 1;
      hold.tick();
      expect(stage.questions, `after ${seconds} s`).to.equal(before + 1);
      await answered();
    }
    expect(hold.isOn).to.equal(true);
    attached(hold).tick();
    expect(stage.questions, 'at once on a new connection').to.equal(12);
    hold.stop();
  });

  /** Asks when it is due, without an answer. */
  async function pass(hold: NewContactHold, ms: number): Promise<void> {
    stage.nowMs += ms;
    hold.tick();
    await answered();
    hold.tick();
    // Comes after what was written on the same connection.
    await stage.store.redis.ping();
    await answered();
  }
  async function held(): Promise<NewContactHold> {
    const hold = attached();
    stage.said = new Error('silence');
    await hold.wasRefused('17', 463);
    stage.waiting = ['17', '18'];
    hold.tick();
    await answered();
    return hold;
  }

  it('tries people one at a time after ten minutes, and lets go of the others when one is accepted', async () => {
    const hold = await held();
    await pass(hold, 10 * MINUTE_MS - 1);
    expect(stage.calls).to.deep.equal(['held']);
    await pass(hold, 1);
    expect(stage.calls).to.deep.equal(['held', 'met 17']);
    expect(['17', '18'].map((number) => hold.holds(number))).to.deep.equal([false, true]);
    await hold.wasAccepted('29');
    expect(hold.isOn, 'an acquaintance proves nothing').to.equal(true);
    await hold.wasAccepted('17');
    expect(hold.isOn).to.equal(false);
    expect(stage.calls).to.deep.equal(['held', 'met 17', 'lifted']);
    expect(await stored()).to.equal(undefined);
  });

  it('fails no recipient for a refused trial: they wait again, and the next trial is a quarter of an hour later', async () => {
    const hold = await held();
    await pass(hold, 10 * MINUTE_MS);
    expect(await hold.wasRefused('17', 463), 'the network has not said that it knows of no restriction').to.equal(true);
    expect(await hold.wasRefused('19', 463), 'was under way').to.equal(true);
    expect(['17', '18', '19'].map((number) => hold.holds(number))).to.deep.equal([true, true, true]);
    await pass(hold, 15 * MINUTE_MS - 1);
    expect(stage.calls).to.deep.equal(['held', 'met 17']);
    await pass(hold, 1);
    expect(stage.calls).to.deep.equal(['held', 'met 17', 'met 18']);
    expect(await hold.wasRefused('18', 463)).to.equal(true);
    await pass(hold, 15 * MINUTE_MS);
    expect(stage.calls, 'when all were tried').to.deep.equal(['held', 'met 17', 'met 18', 'met 17']);
    hold.stop();
  });

  it('makes no attempt before the end that the network named, nor while it answers', async () => {
    const hold = attached();
    stage.said = { kind: 'reach_out_time_lock', untilMs: stage.nowMs + 60 * MINUTE_MS };
    await hold.wasRefused('17', 463);
    stage.waiting = ['18'];
    await pass(hold, 30 * MINUTE_MS);
    expect(stage.calls, 'it answers').to.deep.equal(['held']);
    stage.said = new Error('silence');
    await pass(hold, 29 * MINUTE_MS);
    expect(stage.calls, 'it has named an end').to.deep.equal(['held']);
    await pass(hold, MINUTE_MS);
    await pass(hold, 10 * MINUTE_MS);
    expect(stage.calls).to.deep.equal(['held', 'met 18']);
    hold.stop();
  });

  /** The next owner, which asks at its login and gets no answer. */
  async function handedOver(hold: NewContactHold): Promise<NewContactHold> {
    hold.stop();
    const next = makeHold();
    await next.load();
    next.attach(session);
    await pass(next, 0);
    return next;
  }

  it('goes on for the next owner, whose ten minutes have begun already', async () => {
    const first = await held();
    await pass(first, 6 * MINUTE_MS);
    const next = await handedOver(first);
    await pass(next, 4 * MINUTE_MS - 1);
    expect(stage.calls.at(-1)).to.equal('held');
    await pass(next, 1);
    expect(stage.calls.at(-1)).to.equal('met 17');
    next.stop();
  });

  it('makes no earlier attempt because of a hand-over', async () => {
    const first = await held();
    await pass(first, 10 * MINUTE_MS);
    expect(await first.wasRefused('17', 463)).to.equal(true);
    const next = await handedOver(first);
    await pass(next, 15 * MINUTE_MS - 1);
    expect(stage.calls.filter((call) => call.startsWith('met'))).to.deep.equal(['met 17']);
    await pass(next, 1);
    expect(stage.calls.at(-1)).to.match(/^met/);
    next.stop();
  });

  it('begins again after an answer, for the next owner too', async () => {
    const first = await held();
    stage.said = { kind: 'reach_out_time_lock' };
    await pass(first, 6 * MINUTE_MS);
    stage.said = new Error('silence');
    const next = await handedOver(first);
    await pass(next, 10 * MINUTE_MS - 1);
    expect(stage.calls.at(-1)).to.equal('held');
    await pass(next, 1);
    expect(stage.calls.at(-1)).to.equal('met 17');
    next.stop();
  });

  it('releases no recipient for a stale owner', async () => {
    const hold = await held();
    const { redis, space } = stage.store;
    await redis.set(deviceKeys(space, ADDRESS).owner, 'b:2');
    await pass(hold, 10 * MINUTE_MS);
    await eventually(() => stage.calls.includes('fenced'));
    expect(stage.calls).to.deep.equal(['held', 'fenced']);
    hold.stop();
  });
});
