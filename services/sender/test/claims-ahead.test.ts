import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { SessionEndedError } from '@gateway/messenger/session/session-errors';
import { defer } from '@gateway/runtime/deferred';
import { cancelSend } from '@gateway/store/sends/change-send';
import { readRecipients } from '@gateway/store/sends/read-send';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { ADA, numbers, useOpenScheduler } from './support/open-scheduler.js';
import { ADDRESS } from './support/scheduler-stage.js';

const RECIPIENTS = 100;

describe('the scheduler of a device that is far from Redis', () => {
  const { stage, open, recipients } = useOpenScheduler();
  let claims: number;
  let claiming: number;
  let most: number;
  let asked: number;
  let beganMs: number | undefined;
  beforeEach(() => {
    [claims, claiming, most, asked, beganMs] = [0, 0, 0, 0, undefined];
    stage.steps.between = async (step, run) => {
      if (step === 'take-pace') {
        asked++;
        stage.leap(10);
        const dues = (await run()) as string[];
        beganMs ??= Number(dues[0]);
        return dues;
      }
      if (step !== 'claim-recipient') return run();
      claims++;
      most = Math.max(most, ++claiming);
      await new Promise((resolve) => setTimeout(resolve, 5));
      return run().finally(() => claiming--);
    };
  });

  /** A list of which some messages are claimed, and wait as the library does not go on. */
  async function holdUp() {
    const { scheduler, session } = open();
    const list = await stage.accept(numbers(RECIPIENTS));
    const [turn, send] = [defer<void>(), session.send.bind(session)];
    let held = 0;
    session.send = async (message) => {
      if (most < 6) return send(message);
      held++;
      await turn.promise;
      return send(message);
    };
    const ended = stage.start(scheduler, list);
    await eventually(() => held === 2 && claiming === 0, { everyMs: 1 });
    const inFlight = await stage.metric('gateway_active_recipients{place="in_flight"}');
    expect(inFlight, 'claims that wait').to.be.greaterThan(2);
    return { scheduler, session, list, ended, goOn: () => turn.resolve() };
  }

  it('claims several at a time, and sends each message once', async () => {
    const { scheduler } = open();
    const list = await stage.accept(numbers(RECIPIENTS));
    await stage.start(scheduler, list);
    expect(most).to.be.within(5, 26);
    expect(recipients().toSorted()).to.deep.equal(numbers(RECIPIENTS));
    expect(await stage.counts(list)).to.include({ sent: RECIPIENTS });
  });

  it('asks the pace for as many messages as it claims at a time', async () => {
    const { scheduler } = open({ pace: { messagesPerMinute: 60, burst: RECIPIENTS - 1, jitter: 0.3 } });
    const list = await stage.accept(numbers(RECIPIENTS));
    const ended = stage.start(scheduler, list);
    await stage.sentTo(RECIPIENTS - 1);
    expect(asked).to.be.below(RECIPIENTS / 4);
    expect(most, 'claims at a time').to.be.within(5, 26);
    stage.leap(1_300);
    await scheduler.refresh();
    await ended;
    expect(recipients().toSorted()).to.deep.equal(numbers(RECIPIENTS));
  });

  it('gives back what it has of the pace and did not use, when it stops', async () => {
    const { scheduler, session } = open({ pace: { messagesPerMinute: 60, burst: RECIPIENTS, jitter: 0 } });
    const { pace } = deviceKeys(stage.space.store.space, ADDRESS);
    const readTaken = async () => {
      const dueMs = Number(await stage.space.store.redis.hget(pace, 'dueMs'));
      return Math.round((dueMs - beganMs!) / 1_000);
    };
    const [first, others] = [defer<void>(), defer<void>()];
    const send = session.send.bind(session);
    let sending = 0;
    session.send = async (message) => {
      await (sending++ === 0 ? first : others).promise;
      return send(message);
    };
    const ended = stage.start(scheduler, await stage.accept(numbers(RECIPIENTS)));
    await eventually(() => sending === 2, { everyMs: 1 });
    first.resolve();
    await eventually(() => sending > 2 && claiming === 0, { everyMs: 1 });
    // More of them are asked for than messages may be under way.
    expect(await readTaken()).to.be.above(claims);
    const stopped = scheduler.stop();
    await eventually(async () => (await readTaken()) === claims, { everyMs: 1 });
    others.resolve();
    await Promise.all([stopped, ended]);
  });

  it('does not keep the network waiting for verdicts that are being stored, up to a bound', async () => {
    const { scheduler } = open();
    const [stored, claim] = [defer<void>(), stage.steps.between];
    stage.steps.between = (step, run) => (step === 'record-results' ? stored.promise.then(run) : claim(step, run));
    const list = await stage.accept(numbers(RECIPIENTS));
    const ended = stage.start(scheduler, list);
    await eventually(() => recipients().length > 60, { everyMs: 1 });
    await eventually(() => claiming === 0, { everyMs: 1 });
    expect(recipients().length, 'written, and none of them stored').to.be.at.most(96);
    expect(await stage.counts(list)).to.include({ sent: 0 });
    stored.resolve();
    await ended;
    expect(recipients().toSorted()).to.deep.equal(numbers(RECIPIENTS));
    expect(await stage.counts(list)).to.include({ sent: RECIPIENTS });
  });

  it('cancels what is claimed and not written', async () => {
    const { scheduler, list, ended, goOn } = await holdUp();
    await cancelSend(stage.space.store, ADDRESS, list);
    await scheduler.refresh();
    goOn();
    await ended;
    const sent = recipients().length;
    expect(await stage.counts(list)).to.include({ sent, cancelled: RECIPIENTS - sent, queued: 0 });
    expect(sent).to.be.lessThan(RECIPIENTS - 2);
  });

  it('writes nothing more to people who opt out while they are claimed', async () => {
    const { scheduler, list, ended, goOn } = await holdUp();
    const before = recipients().length + 2;
    await addOptOuts(stage.space.store, 'main', { numbers: numbers(RECIPIENTS), source: 'reply', atMs: 1 });
    scheduler.optOutsChanged();
    goOn();
    await ended;
    expect(recipients()).to.have.length(before);
    const told = (await stage.statuses(list)).filter((status) => status !== 'sent');
    expect(new Set(told)).to.deep.equal(new Set([`failed ${ownErrorCode('recipient_opted_out')}`]));
  });

  it('has a code written next, before what is claimed', async () => {
    const { scheduler, ended, goOn } = await holdUp();
    const [before, claimed] = [recipients().length, claims];
    const code = stage.start(scheduler, await stage.accept([ADA], { kind: 'otp' }), 'otp');
    await eventually(() => claims > claimed && claiming === 0, { everyMs: 1 });
    goOn();
    await Promise.all([code, ended]);
    expect(recipients().indexOf(ADA)).to.be.within(before, before + 2);
    expect(new Set(recipients()).size).to.equal(recipients().length);
  });

  it('gives back what is claimed and not written when it stops', async () => {
    const { scheduler, list, goOn } = await holdUp();
    const stopped = scheduler.stop();
    goOn();
    await stopped;
    const sent = recipients().length;
    expect(await stage.counts(list)).to.include({ sent, queued: RECIPIENTS - sent });
    const next = stage.makeScheduler();
    next.attach(stage.makeSession());
    await stage.start(next, list);
    expect(new Set(recipients()).size, 'each once').to.equal(recipients().length);
    expect(await stage.counts(list)).to.include({ sent: RECIPIENTS });
  });

  for (const hasFailed of [true, false]) {
    const of = hasFailed ? 'when an error ends its owner, as it may be the cause' : 'when it stops, and gives it back';
    it(`${hasFailed ? 'leaves' : 'leaves nothing'} in flight of what the library has ${of}`, async () => {
      const { scheduler, session } = open();
      const list = await stage.accept(numbers(RECIPIENTS));
      const stuck = defer<never>();
      session.send = () => stuck.promise;
      void stage.start(scheduler, list);
      await eventually(() => most > 1 && claiming === 0, { everyMs: 1 });
      const stopped = scheduler.stop({ hasFailed });
      stuck.reject(new SessionEndedError());
      await stopped;
      const { tag } = parseMessageId(list)!;
      const all = await readRecipients(stage.space.store, ADDRESS, tag, { from: 0, limit: RECIPIENTS });
      const inFlight = all.filter(({ partsInFlight }) => partsInFlight > 0);
      expect(inFlight).to.have.length(hasFailed ? 2 : 0);
      expect(all.filter(({ attempts }) => attempts > 0).length).to.be.at.least(2);
    });
  }
});
