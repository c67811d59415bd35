import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { SessionEndedError } from '@gateway/messenger/session/session-errors';
import { defer } from '@gateway/runtime/deferred';
import { cancelSend } from '@gateway/store/sends/change-send';
import { eventually } from '@gateway/testkit/eventually';
import type { Answer } from '@gateway/testkit/scripted-session';
import { expect } from 'chai';
import { ACCEPTED, ADA, BEN, CLEO, numbers, useOpenScheduler } from './support/open-scheduler.js';
import { ADDRESS } from './support/scheduler-stage.js';

describe('the scheduler of a device whose network answers', () => {
  const { stage, open, recipients, idsOf } = useOpenScheduler();

  it('about a minute’s worth of people at a time under a slow pace, and as urgent about the one of a code alone', async () => {
    const scheduler = stage.makeScheduler({ pace: { messagesPerMinute: 3, burst: 1, jitter: 0 } });
    const session = stage.makeSession();
    const asked: { people: number; urgent?: boolean }[] = [];
    const lookUp = session.lookUp.bind(session);
    session.lookUp = (people: readonly string[], options?: { urgent?: boolean }) => {
      asked.push({ people: people.length, ...options });
      return lookUp(people);
    };
    scheduler.attach(session);
    const take = async (messageId: string, priority: 'bulk' | 'otp') =>
      scheduler.sends.takeIn({ v: 1, ...ADDRESS, messageId, priority, requestId: 'r' });
    await take(await stage.accept(numbers(40)), 'bulk');
    await stage.sentTo(1);
    await take(await stage.accept([ADA], { kind: 'otp' }), 'otp');
    await eventually(() => asked.some(({ urgent }) => urgent), { everyMs: 5 });
    expect(asked.filter(({ urgent }) => urgent)).to.deep.equal([{ people: 1, urgent: true }]);
    expect(Math.max(...asked.map(({ people }) => people))).to.equal(3);
  });

  it('that it refuses one message: that recipient fails with its code, and the others get theirs', async () => {
    stage.network.answer = ({ to }) => (to === BEN ? { kind: 'refused', code: 406 } : ACCEPTED);
    const { scheduler } = open();
    const list = await stage.accept([ADA, BEN, CLEO]);
    await stage.start(scheduler, list);
    expect(await stage.statuses(list)).to.deep.equal(['sent', 'failed 406', 'sent']);
    expect(stage.warnings).to.include('message refused by the network');
  });

  it('that it is busy: the same id goes out again after a pause that doubles, behind the others', async () => {
    let refusals = 2;
    stage.network.answer = ({ to }) => (to === ADA && refusals-- > 0 ? { kind: 'retryLater', code: 503 } : ACCEPTED);
    const { scheduler } = open();
    const list = await stage.accept([ADA, BEN]);
    await stage.start(scheduler, list);
    expect(recipients()).to.deep.equal([ADA, BEN]);
    for (const pauseMs of [2_000, 4_000]) {
      const before = recipients().length;
      await stage.pass(pauseMs - 1, scheduler);
      expect(recipients()).to.have.length(before);
      await stage.pass(1, scheduler);
      await stage.sentTo(before + 1);
      await eventually(async () => (await stage.counts(list)).queued === (recipients().length < 4 ? 1 : 0), {
        everyMs: 1,
      });
      await eventually(() => scheduler.sends.inTurn().every(({ rests }) => rests), { everyMs: 1 });
    }
    expect(new Set(idsOf(ADA)).size).to.equal(1);
    expect(await stage.statuses(list)).to.deep.equal(['sent', 'sent']);
  });

  it('that it is busy, of a list that was cancelled meanwhile: that recipient gets no further attempt', async () => {
    const ack = defer<Answer>();
    stage.network.answer = () => ack.promise;
    const { scheduler } = open();
    const list = await stage.accept([ADA]);
    const ended = stage.start(scheduler, list);
    await stage.sentTo(1);
    await cancelSend(stage.space.store, ADDRESS, list);
    ack.resolve({ kind: 'retryLater', code: 503 });
    await ended;
    expect(await stage.statuses(list)).to.deep.equal(['cancelled']);
    expect(recipients()).to.deep.equal([ADA]);
  });

  it('that our list of devices is outdated: the same id goes out again after a pause', async () => {
    stage.network.answer = () => (recipients().length === 1 ? { kind: 'staleDevices', code: 479 } : ACCEPTED);
    const { scheduler } = open();
    const list = await stage.accept([ADA]);
    await stage.start(scheduler, list);
    expect(await stage.statuses(list)).to.deep.equal(['queued']);
    await stage.pass(2_000, scheduler);
    await stage.sentTo(2);
    await eventually(async () => (await stage.counts(list)).sent === 1, { everyMs: 1 });
    expect(new Set(idsOf(ADA)).size).to.equal(1);
  });

  it('that it refuses a stranger, of a list that was cancelled meanwhile: there is no further attempt', async () => {
    const ack = defer<Answer>();
    stage.network.answer = () => ack.promise;
    const { scheduler } = open();
    const list = await stage.accept([ADA]);
    const ended = stage.start(scheduler, list);
    await stage.sentTo(1);
    await cancelSend(stage.space.store, ADDRESS, list);
    ack.resolve({ kind: 'restricted', code: 463 });
    await ended;
    expect(await stage.statuses(list)).to.deep.equal(['cancelled']);
    expect(recipients()).to.deep.equal([ADA]);
  });

  it('to all others, where one message cannot be written: that one waits, and the log says why', async () => {
    let isBroken = true;
    stage.network.answer = ({ to }) => {
      if (to === ADA && isBroken) throw new Error('cannot be encrypted');
      return ACCEPTED;
    };
    const { scheduler } = open();
    const list = await stage.accept([ADA, BEN]);
    await stage.start(scheduler, list);
    expect(await stage.statuses(list)).to.deep.equal(['queued', 'sent']);
    isBroken = false;
    await stage.pass(2_000, scheduler);
    await eventually(() => stage.warnings.includes('message not written'), { everyMs: 1 });
    expect(await stage.statuses(list)).to.deep.equal(['sent', 'sent']);
  });

  it('nothing: the session is given up, and the next one sends the same id again', async () => {
    stage.network.answer = () => 'silence';
    const { scheduler, session } = open();
    const list = await stage.accept([ADA]);
    const ended = stage.start(scheduler, list);
    await stage.sentTo(1);
    session.lapse();
    await eventually(() => stage.stalled.length > 0, { everyMs: 1 });
    expect(stage.stalled).to.deep.equal([session]);
    stage.network.answer = () => ACCEPTED;
    scheduler.attach(stage.makeSession());
    await ended;
    expect(new Set(idsOf(ADA)).size).to.equal(1);
    expect(await stage.statuses(list)).to.deep.equal(['sent']);
  });

  it('nothing to one message and something to a later one: that message goes out again, and the session stays', async () => {
    stage.network.answer = ({ to }) => (to === ADA && idsOf(ADA).length === 1 ? 'silence' : ACCEPTED);
    const { scheduler, session } = open();
    const list = stage.start(scheduler, await stage.accept([ADA]));
    await stage.sentTo(1);
    await stage.pass(1, scheduler);
    await stage.start(scheduler, await stage.accept([BEN]));
    session.lapse();
    await list;
    expect(recipients()).to.deep.equal([ADA, BEN, ADA]);
    expect(stage.stalled).to.deep.equal([]);
  });

  it('no more, as the connection ends while it sends: what was not written goes out once, on the next session', async () => {
    const { scheduler, session } = open();
    let before: Set<string> | undefined;
    stage.network.answer = () => {
      if (recipients().length <= 10) return ACCEPTED;
      before ??= new Set(recipients());
      scheduler.detach();
      session.lose({ kind: 'reconnect', code: 428, backoff: 'network' });
      throw new SessionEndedError();
    };
    const list = await stage.accept(numbers(30));
    const ended = stage.start(scheduler, list);
    await eventually(() => before !== undefined, { everyMs: 1 });
    stage.network.answer = () => ACCEPTED;
    scheduler.attach(stage.makeSession());
    await ended;
    expect(await stage.counts(list)).to.include({ sent: 30 });
    expect([...new Set(recipients())]).to.have.members(numbers(30));
    expect(before!.size).to.be.within(10, 12);
  });

  it('that a number does not exist, or nothing of it yet: that fails, this is asked again', async () => {
    let isBusy = true;
    stage.network.lookUp = (number) => {
      if (number === ADA) return { exists: false };
      return number === BEN && isBusy ? { error: 429 } : { exists: true };
    };
    const { scheduler } = open();
    const list = await stage.accept([ADA, BEN, CLEO]);
    await stage.start(scheduler, list);
    const notThere = `failed ${ownErrorCode('not_on_messenger')}`;
    expect(await stage.statuses(list)).to.deep.equal([notThere, `queued ${ownErrorCode('looked_up_again')}`, 'sent']);
    isBusy = false;
    await stage.pass(2_000, scheduler);
    await eventually(async () => (await stage.counts(list)).sent === 2, { everyMs: 1 });
    expect(await stage.statuses(list)).to.deep.equal([notThere, 'sent', 'sent']);
  });
});
