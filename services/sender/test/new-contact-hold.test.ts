import { FencedError } from '@gateway/runtime/errors';
import { readRefusedContacts, recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { forgetPerson } from '@gateway/store/workspace/people';
import { eventually } from '@gateway/testkit/eventually';
import { giveDeviceBack } from '@gateway/testkit/ownership';
import { expect } from 'chai';
import { ADDRESS, MINUTE_MS, useHoldStage } from './support/hold-stage.js';

describe('the hold of messages to new contacts', () => {
  const { stage, session, makeHold, attached, answered, stored, restrictedDevices } = useHoldStage();

  it('holds at the first refusal, before the network has said until when', async () => {
    const hold = attached();
    stage.said = { kind: 'reach_out_time_lock', untilMs: stage.nowMs + 90_000 };
    const verdict = hold.wasRefused('17', 463);
    expect(hold.isOn).to.equal(true);
    expect(stage.calls).to.deep.equal(['held']);
    expect(await verdict).to.equal(true);
    expect(await stored()).to.deep.equal({ ...stage.said, sinceMs: stage.nowMs });
    expect([...(await hold.findKnown(session, ['17', '18', '29']))], 'it was refused as a stranger').to.deep.equal([
      '18',
    ]);
    expect(await restrictedDevices()).to.equal(1);
    hold.stop();
    expect(await restrictedDevices()).to.equal(0);
  });

  it('tells the next owner whom the network has refused, from the first to the last', async () => {
    const hold = attached();
    stage.said = { kind: 'reach_out_time_lock', untilMs: stage.nowMs + 90_000 };
    for (const number of ['17', '18']) await hold.wasRefused(number, 463);
    hold.stop();
    const next = makeHold();
    await next.load();
    expect([...(await next.findKnown(session, ['17', '18', '19']))]).to.deep.equal(['19']);
    next.stop();
  });

  it('asks once for many refusals', async () => {
    const hold = attached();
    stage.said = { kind: 'new_chat_cap' };
    expect(await Promise.all(['1', '2', '3'].map((to) => hold.wasRefused(to, 463)))).to.deep.equal([true, true, true]);
    expect(await hold.wasRefused('4', 463)).to.equal(true);
    expect(stage.questions).to.equal(1);
    hold.stop();
  });

  it('asks again for a refusal that comes while the answer to the one before is written down', async () => {
    const hold = attached();
    stage.said = { kind: 'reach_out_time_lock' };
    await hold.wasRefused('17', 463);
    stage.said = undefined;
    let write = () => {};
    const written = new Promise<void>((resolve) => {
      write = resolve;
    });
    const { run } = stage.space.store;
    let isWriting = false;
    stage.store.run = async (...args) => {
      isWriting = true;
      await written;
      return run(...args);
    };
    hold.hasNews();
    await eventually(() => {
      hold.tick();
      return isWriting;
    });
    expect(stage.questions, 'it was lifted').to.equal(2);

    stage.said = { kind: 'new_chat_cap', untilMs: stage.nowMs + MINUTE_MS };
    const verdict = hold.wasRefused('18', 463);
    write();
    expect(await verdict).to.equal(true);
    expect(stage.questions).to.equal(3);
    expect(stage.calls, 'those who wait are not let go in between').to.deep.equal(['held', 'held']);
    expect(await stored()).to.deep.equal({ ...stage.said, sinceMs: stage.nowMs });
    stage.said = undefined;
    stage.nowMs += MINUTE_MS;
    await eventually(() => {
      hold.tick();
      return stage.calls.includes('lifted');
    });
    expect(await stored()).to.equal(undefined);
  });

  it('tells each refusal of the answer that it asked for, and is never on without a next question', async () => {
    const hold = attached();
    const verdicts: Promise<boolean>[] = [];
    for (let i = 0; i < 20; i++) {
      verdicts.push(hold.wasRefused(`1${i}`, 463));
      // At every point of the question before.
      for (let turn = 0; turn < i; turn++) await Promise.resolve();
    }
    expect(new Set(await Promise.all(verdicts))).to.deep.equal(new Set([false]));
    expect(hold.isOn).to.equal(false);
    expect(stage.questions).to.be.greaterThan(1);
    expect(stage.calls.filter((call) => call === 'lifted')).to.have.length(stage.questions);
  });

  it('lets the others go on when the network knows of no restriction', async () => {
    const hold = attached();
    expect(await hold.wasRefused('17', 463)).to.equal(false);
    expect(hold.isOn).to.equal(false);
    expect(stage.calls).to.deep.equal(['held', 'lifted']);
    expect(await stored()).to.equal(undefined);
  });

  it('asks again, once, about the refusals that came after its question', async () => {
    const hold = attached();
    const answers: (() => void)[] = [];
    const { readRestriction: read } = session;
    session.readRestriction = (about) =>
      new Promise((resolve) => {
        answers.push(() => resolve(read(about)));
      });
    const verdicts = ['17', '18', '19'].map((to) => hold.wasRefused(to, 463));
    await eventually(() => answers.length === 1);
    answers[0]!();
    await eventually(() => answers.length === 2);
    expect(await verdicts[0]).to.equal(false);
    stage.said = { kind: 'reach_out_time_lock', untilMs: stage.nowMs + MINUTE_MS };
    answers[1]!();
    expect(await Promise.all(verdicts)).to.deep.equal([false, true, true]);
    expect(stage.questions).to.equal(2);
    session.readRestriction = read;
    hold.stop();
  });

  it('knows for a while that a restriction was announced: it may explain a refusal though it is over', () => {
    const hold = attached();
    expect(hold.hasLateNews, 'a login is no news').to.equal(false);
    hold.hasNews();
    stage.nowMs += 9_999;
    expect(hold.hasLateNews).to.equal(true);
    stage.nowMs += 1;
    expect(hold.hasLateNews).to.equal(false);
  });

  it('ends when the network says so, and not by the clock', async () => {
    const hold = attached();
    stage.said = { kind: 'reach_out_time_lock', untilMs: stage.nowMs + MINUTE_MS };
    await hold.wasRefused('17', 463);
    stage.nowMs += MINUTE_MS - 1;
    hold.tick();
    expect(stage.questions, 'not before its end').to.equal(1);
    stage.nowMs += 1;
    hold.tick();
    await eventually(() => stage.questions === 2);
    // Its answer is read in the microtasks of this turn.
    await answered();
    stage.said = undefined;
    stage.nowMs += 4_999;
    hold.tick();
    expect(stage.questions, 'the clock of the network is behind ours').to.equal(2);
    expect(hold.isOn).to.equal(true);
    stage.nowMs += 1;
    await eventually(() => {
      hold.tick();
      return stage.calls.includes('lifted');
    });
    expect(hold.isOn).to.equal(false);
    expect(await stored()).to.equal(undefined);
    expect(await hold.findKnown(session, ['17'])).to.deep.equal(new Set(['17']));
  });

  it('asks now and then whether a long one was lifted early, and at once when there are news', async () => {
    const hold = attached();
    stage.said = { kind: 'reach_out_time_lock', untilMs: stage.nowMs + 600 * MINUTE_MS };
    await hold.wasRefused('17', 463);
    stage.nowMs += 15 * MINUTE_MS;
    hold.tick();
    await eventually(() => stage.questions === 2);
    hold.hasNews();
    stage.said = undefined;
    await eventually(() => {
      hold.tick();
      return !hold.isOn;
    });
  });

  it('holds on news alone', async () => {
    const hold = attached();
    stage.said = { kind: 'new_chat_cap' };
    hold.hasNews();
    hold.tick();
    await eventually(stored);
    expect(stage.calls).to.deep.equal(['held']);
    hold.stop();
  });

  it('asks at the login and every hour whether the account is restricted, before anything is refused', async () => {
    const hold = attached();
    hold.tick();
    await answered();
    expect(stage.abouts).to.deep.equal([undefined]);
    hold.tick();
    expect(stage.questions, 'once').to.equal(1);
    stage.nowMs += 60 * MINUTE_MS - 1;
    hold.tick();
    expect(stage.questions, 'not before an hour').to.equal(1);
    stage.said = { kind: 'new_chat_cap', untilMs: stage.nowMs + 30 * MINUTE_MS };
    stage.nowMs += 15 * MINUTE_MS + 1;
    hold.tick();
    await eventually(stored);
    expect(stage.questions).to.equal(2);
    expect(stage.calls).to.deep.equal(['held']);
    hold.stop();
  });

  it('takes 475 for a used-up quota, and asks about that', async () => {
    const hold = attached();
    stage.said = new Error('silence');
    expect(await hold.wasRefused('17', 475)).to.equal(true);
    expect(stage.abouts).to.deep.equal(['new_chat_cap']);
    const { nowMs } = stage;
    expect(await stored()).to.deep.equal({ kind: 'new_chat_cap', sinceMs: nowMs, silentSinceMs: nowMs });
    hold.stop();
  });

  it('asks again when a message is refused while it asks about something else', async () => {
    const hold = attached();
    hold.tick();
    expect(await hold.wasRefused('17', 475)).to.equal(false);
    expect(stage.abouts).to.deep.equal([undefined, 'new_chat_cap']);
  });

  it('is taken over by the next owner, who asks as soon as it can', async () => {
    const untilMs = stage.nowMs + MINUTE_MS;
    stage.said = { kind: 'reach_out_time_lock', untilMs };
    const former = attached();
    await former.wasRefused('17', 463);
    former.stop();
    const next = makeHold();
    await next.load();
    expect(next.isOn).to.equal(true);
    expect(await next.findKnown(session, ['17', '18'])).to.deep.equal(new Set(['18']));
    stage.nowMs = untilMs + 1;
    next.tick();
    expect(stage.questions, 'there is no connection yet').to.equal(1);
    stage.said = undefined;
    attached(next).tick();
    await eventually(() => !next.isOn);
    expect(await stored()).to.equal(undefined);
  });

  it('is recorded again where a failover may have forgotten it, or its end, and not before it is read', async () => {
    const { store } = stage.space;
    stage.said = { kind: 'new_chat_cap' };
    const former = attached();
    await former.wasRefused('17', 463);
    former.stop();
    const restriction = await stored();
    const hold = makeHold();
    hold.distrustRedis();
    await hold.load();
    expect(await stored(), 'it knew of none yet').to.deep.equal(restriction);
    await recordRestriction(store, stage.ownership, undefined);
    hold.distrustRedis();
    await eventually(async () => (await stored()) !== undefined);
    expect(await stored()).to.deep.equal(restriction);
    expect(await readRefusedContacts(store, ADDRESS)).to.deep.equal(['17']);
    stage.said = undefined;
    attached(hold).tick();
    await eventually(() => stage.calls.includes('lifted'));
    await recordRestriction(store, stage.ownership, restriction, ['17']);
    hold.distrustRedis();
    await eventually(async () => (await stored()) === undefined);
    expect(await readRefusedContacts(store, ADDRESS)).to.deep.equal([]);
    hold.stop();
  });

  it('is recorded as it is, though Redis refuses for a moment what was to be recorded first', async () => {
    const hold = attached();
    const { run } = stage.space.store;
    let refusals = 0;
    stage.store.run = async (name, ...args) => {
      if (name === 'record-restriction' && refusals++ === 0)
        throw new Error('NOREPLICAS Not enough good replicas to write.');
      return run(name, ...args);
    };
    stage.said = { kind: 'reach_out_time_lock', untilMs: stage.nowMs + MINUTE_MS };
    const verdict = hold.wasRefused('17', 463);
    await eventually(() => refusals > 0);
    hold.distrustRedis();
    stage.said = undefined;
    stage.nowMs += MINUTE_MS;
    await eventually(() => {
      hold.tick();
      return stage.calls.includes('lifted');
    });
    expect(await verdict).to.equal(true);
    expect(await stored()).to.equal(undefined);
    hold.stop();
  });

  it('is recorded again without those who were forgotten', async () => {
    stage.said = { kind: 'new_chat_cap' };
    const hold = attached();
    await hold.load();
    await hold.wasRefused('491511230001', 463);
    hold.forget('491511230001');
    await forgetPerson(stage.space.store, ADDRESS, '491511230001');
    hold.distrustRedis();
    // By the same connection, behind what is recorded.
    await stored();
    expect(await readRefusedContacts(stage.space.store, ADDRESS)).to.deep.equal([]);
    hold.stop();
  });

  it('does not treat as strangers those who have written since, in any spelling of their number', async () => {
    const [typed, written] = ['551187654321', '5511987654321'];
    const hold = attached();
    hold.metPerson(written);
    expect(stage.calls, 'no one waits').to.deep.equal([]);
    stage.said = { kind: 'new_chat_cap' };
    await hold.wasRefused(typed, 463);
    expect(await readRefusedContacts(stage.space.store, ADDRESS)).to.deep.equal([written]);
    expect(await hold.findKnown(session, ['17', typed, written])).to.deep.equal(new Set(['17']));
    expect([typed, written].map((number) => hold.holds(number))).to.deep.equal([true, true]);
    hold.metPerson(written);
    expect(stage.calls).to.deep.equal(['held', `met ${written}`]);
    expect(await hold.findKnown(session, ['17', typed, written])).to.deep.equal(new Set(['17', typed, written]));
    expect([typed, written].map((number) => hold.holds(number))).to.deep.equal([false, false]);
    await hold.wasRefused(typed, 463);
    expect(hold.holds(written), 'the network has the last word').to.equal(true);
    hold.stop();
  });

  it('lets no stale owner write', async () => {
    const hold = attached();
    await giveDeviceBack(stage.space.store, stage.ownership);
    stage.said = { kind: 'new_chat_cap' };
    expect(await hold.wasRefused('2', 463).catch((thrown: unknown) => thrown)).to.be.instanceOf(FencedError);
    hold.hasNews();
    hold.tick();
    await eventually(() => stage.calls.includes('fenced'));
    hold.stop();
  });
});
