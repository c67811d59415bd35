import type { MessageId } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import { defer } from '@gateway/runtime/deferred';
import { FencedError } from '@gateway/runtime/errors';
import { type Gate, PASS } from '@gateway/sender/dispatching/gate';
import type { DeviceScheduler } from '@gateway/sender/scheduling/device-scheduler';
import { cancelSend, claimRecipient } from '@gateway/store/sends/change-send';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import type { Answer } from '@gateway/testkit/scripted-session';
import { expect } from 'chai';
import { ACCEPTED, ADA, BEN, CLEO, DORA, numbers, useOpenScheduler } from './support/open-scheduler.js';
import { ADDRESS } from './support/scheduler-stage.js';

describe('the scheduler of a device', () => {
  const { stage, open, recipients, prepared } = useOpenScheduler();

  it('sends each recipient one message, under an id of its own, and writes down that the network took it', async () => {
    const { scheduler } = open();
    const list = await stage.accept(numbers(150));
    await stage.start(scheduler, list);
    expect(recipients()).to.deep.equal(numbers(150));
    expect(new Set(stage.sent.map(({ platformId }) => platformId)).size).to.equal(150);
    expect(await stage.counts(list)).to.include({ sent: 150, queued: 0 });
  });

  it('sends a one-time password next, also where a list may write no more before it gets acks', async () => {
    stage.network.answer = ({ to }) => (to === ADA ? ACCEPTED : 'silence');
    const { scheduler } = open();
    void stage.start(scheduler, await stage.accept(numbers(100)));
    await stage.sentTo(32);
    const inPlace = (place: string) => stage.metric(`gateway_active_recipients{place="${place}"}`);
    expect([await inPlace('in_flight'), await inPlace('ready'), await inPlace('waiting')]).to.deep.equal([32, 68, 0]);
    const code = await stage.accept([ADA], { kind: 'otp' });
    await stage.start(scheduler, code, 'otp');
    expect(recipients().indexOf(ADA)).to.equal(32);
    expect(recipients(), 'the list waits').to.have.length(33);
    expect(await stage.counts(code)).to.include({ sent: 1 });
  });

  it('gives a code the session to itself until its answer, and lists go on then', async () => {
    const answer = defer<void>();
    stage.network.answer = ({ to }) => (to === ADA ? answer.promise.then(() => ACCEPTED) : ACCEPTED);
    const { scheduler, session } = open();
    let urgent: 'runs' | 'ended' | undefined;
    session.urgently = async (work) => {
      urgent = 'runs';
      await work();
      urgent = 'ended';
      return undefined as never;
    };
    const code = stage.start(scheduler, await stage.accept([ADA], { kind: 'otp' }), 'otp');
    expect(urgent, 'before it is read').to.equal('runs');
    await stage.sentTo(1);
    answer.resolve();
    await code;
    await eventually(() => urgent === 'ended');
    await stage.start(scheduler, await stage.accept([BEN]));
    expect([urgent, recipients()]).to.deep.equal(['ended', [ADA, BEN]]);
  });

  it('gives a code a second for each of its steps, where Redis is far away', async () => {
    const claimed = defer<void>();
    let claims = 0;
    stage.steps.between = async (step, run) => {
      if (step === 'take-in-sends' && claims === 0) stage.leap(700);
      if (step !== 'claim-recipient' || claims++ > 0) return run();
      stage.leap(700);
      await claimed.promise;
      return run();
    };
    const { scheduler } = open();
    const list = await stage.accept(numbers(3));
    const code = stage.start(scheduler, await stage.accept([ADA], { kind: 'otp' }), 'otp');
    await eventually(() => claims === 1, { everyMs: 1 });
    const ended = stage.start(scheduler, list);
    // Time enough for a list that goes on.
    for (let i = 0; i < 50; i++) await stage.counts(list);
    claimed.resolve();
    await Promise.all([code, ended]);
    expect(recipients()).to.deep.equal([ADA, ...numbers(3)]);
  });

  it('takes lists in turn, once what people wrote meanwhile has come in, and does not make a code wait for that', async () => {
    const caughtUp = defer<void>();
    stage.network.caughtUp = caughtUp.promise;
    const { scheduler } = open();
    const [first, second] = [await stage.accept(numbers(3, 1)), await stage.accept(numbers(3, 2))];
    const ended = [stage.start(scheduler, first), stage.start(scheduler, second)];
    await prepared(scheduler, 2);
    await stage.start(scheduler, await stage.accept([ADA], { kind: 'otp' }), 'otp');
    expect(recipients()).to.deep.equal([ADA]);
    caughtUp.resolve();
    await Promise.all(ended);
    const inTurn = numbers(3, 1).flatMap((number, i) => [number, numbers(3, 2)[i]!]);
    expect(recipients().slice(1)).to.deep.equal(inTurn);
  });

  describe('with a gate that lets people of one country come later', () => {
    const PAUSE_MS = 60_000;
    let asked: string[];
    let untilMs: number;
    const gate: Gate = async ({ clock }, { to }) => {
      asked.push(to);
      const restMs = untilMs - clock.monotonicMs();
      return to.startsWith('44') && restMs > 0 ? { kind: 'later', ms: restMs } : PASS;
    };
    const british = (count: number) => numbers(count).map((number) => `44${number.slice(2)}`);
    beforeEach(() => {
      [asked, untilMs] = [[], PAUSE_MS];
    });

    it('goes on with all others of the send and of the device, and with those when it is time', async () => {
      const { scheduler } = open({ gates: [gate] });
      const mixed = british(2).flatMap((number, i) => [number, numbers(2)[i]!]);
      const first = await stage.accept([...mixed]);
      await stage.start(scheduler, first);
      await stage.start(scheduler, await stage.accept([ADA]));
      await stage.start(scheduler, await stage.accept([BEN], { kind: 'otp' }), 'otp');
      expect(recipients()).to.deep.equal([...numbers(2), ADA, BEN]);
      await stage.pass(PAUSE_MS - 1, scheduler);
      expect(
        asked.filter((to) => to.startsWith('44')),
        'each once',
      ).to.deep.equal(british(2));
      await stage.pass(1, scheduler);
      await stage.sentTo(6);
      expect(recipients().slice(4)).to.deep.equal(british(2));
      await eventually(async () => (await stage.counts(first)).sent === 4, { everyMs: 1 });
    });

    it('asks it again after five minutes, and not before, where that is in hours', async () => {
      untilMs = 8 * 3_600_000;
      const { scheduler } = open({ gates: [gate] });
      const [one] = british(1) as [string];
      await stage.start(scheduler, await stage.accept([one, CLEO]));
      await stage.start(scheduler, await stage.accept([ADA]));
      await stage.pass(5 * 60_000 - 1, scheduler);
      await stage.start(scheduler, await stage.accept([BEN]));
      expect(recipients()).to.deep.equal([CLEO, ADA, BEN]);
      expect(asked.filter((to) => to === one)).to.have.length(1);
      await stage.pass(1, scheduler);
      await eventually(() => asked.filter((to) => to === one).length === 2, { everyMs: 1 });
    });
  });

  it('sends no faster than its pace, and picks again when the pace allows the next message', async () => {
    const { scheduler } = open({ pace: { messagesPerMinute: 60, burst: 1, jitter: 0 } });
    void stage.start(scheduler, await stage.accept([BEN, CLEO]));
    await stage.sentTo(1);
    const code = stage.start(scheduler, await stage.accept([ADA], { kind: 'otp' }), 'otp');
    await eventually(() => scheduler.sends.hasReady({ otpOnly: true }), { everyMs: 1 });
    await stage.pass(999, scheduler);
    expect(recipients()).to.deep.equal([BEN]);
    await stage.pass(1, scheduler);
    await code;
    expect(recipients(), 'the code overtakes the list').to.deep.equal([BEN, ADA]);
    await stage.pass(1_000, scheduler);
    expect(await stage.sentTo(3)).to.deep.equal([BEN, ADA, CLEO]);
  });

  it('tells by a metric for how long the pace held it up', async () => {
    const { scheduler } = open({ pace: { messagesPerMinute: 1, burst: 1, jitter: 0 } });
    void stage.start(scheduler, await stage.accept([BEN, CLEO]));
    await stage.sentTo(1);
    let passedMs = 0;
    const waited = () => stage.metric('gateway_pace_wait_seconds_total');
    await eventually(async () => {
      await stage.pass(100, scheduler);
      passedMs += 100;
      return (await waited()) >= 0.1;
    });
    expect(await waited()).to.be.at.most(passedMs / 1000);
  });

  it('keeps to one message of lists at a time after several owners that ended', async () => {
    const acks = [defer<Answer>(), defer<Answer>()];
    stage.network.answer = ({ to }) => (to === ADA ? ACCEPTED : acks[recipients().length - 1]!.promise);
    const { scheduler } = open({ isCareful: true });
    const ended = stage.start(scheduler, await stage.accept([BEN, CLEO]));
    await stage.sentTo(1);
    await stage.pass(1_000, scheduler);
    expect(recipients()).to.deep.equal([BEN]);
    for (const ack of acks) ack.resolve(ACCEPTED);
    await ended;
    expect(recipients()).to.deep.equal([BEN, CLEO]);
  });

  it('sends nothing of a list to people who opt out after they were looked up, and codes all the same', async () => {
    const { scheduler } = open();
    const others = numbers(20);
    const gone = [CLEO, DORA];
    stage.steps.between = async (step, run) => {
      const reply = await run();
      if (step === 'claim-recipient' && recipients().length === 0) {
        await addOptOuts(stage.space.store, 'main', { numbers: gone, source: 'api', atMs: 1 });
      }
      return reply;
    };
    const list = await stage.accept([...others, ...gone]);
    await stage.start(scheduler, list);
    const optedOut = `failed ${ownErrorCode('recipient_opted_out')}`;
    expect((await stage.statuses(list)).slice(-3)).to.deep.equal(['sent', optedOut, optedOut]);
    expect(recipients()).to.have.members(others);
    await stage.start(scheduler, await stage.accept([CLEO], { kind: 'otp' }), 'otp');
    expect(recipients().at(-1)).to.equal(CLEO);
  });

  describe('of a message that was in flight when three owners ended', () => {
    async function poison(list: string, ...indices: number[]): Promise<void> {
      const { store, ownership, clock } = stage;
      for (const recipient of indices) {
        for (let owner = 0; owner < 3; owner++) {
          await claimRecipient(store, ownership, { tag: stage.tagOf(list), recipient, part: 0, nowMs: clock.nowMs() });
        }
      }
    }

    it('sends all others first, and that one later with nothing else under way', async () => {
      const ack = defer<Answer>();
      stage.network.answer = ({ to }) => (to === ADA ? ack.promise : ACCEPTED);
      const list = await stage.accept([ADA, BEN, CLEO]);
      await poison(list, 0);
      const { scheduler } = open();
      await stage.start(scheduler, list);
      expect(recipients()).to.deep.equal([BEN, CLEO]);
      await stage.pass(2_000, scheduler);
      await stage.sentTo(3);
      const next = stage.start(scheduler, await stage.accept([DORA]));
      await prepared(scheduler, 1);
      await stage.pass(1_000, scheduler);
      expect(recipients(), 'the next list waits').to.deep.equal([BEN, CLEO, ADA]);
      expect(stage.warnings).to.include('several owners ended with this message in flight: it goes out alone');
      ack.resolve(ACCEPTED);
      await next;
      expect(recipients()).to.deep.equal([BEN, CLEO, ADA, DORA]);
      expect(await stage.counts(list)).to.include({ sent: 3 });
    });

    it('sends nothing of a list with two of them before all other lists, and not before an owner has lasted', async () => {
      const list = await stage.accept([ADA, BEN]);
      await poison(list, 0, 1);
      const options = { isCareful: true };
      const { scheduler } = open(options);
      await stage.start(scheduler, list);
      await stage.pass(10 * 60_000, scheduler);
      await eventually(() => scheduler.sends.inTurn().some(({ hasAlone }) => hasAlone), { everyMs: 1 });
      await stage.start(scheduler, await stage.accept([CLEO]));
      expect(recipients()).to.deep.equal([CLEO]);
    });
  });

  it('ends its owner, and sends nothing, when the device is another one’s by then', async () => {
    const { scheduler } = open();
    stage.steps.between = async (step, run) => {
      const { owner } = deviceKeys(stage.space.store.space, ADDRESS);
      if (step === 'claim-recipient') await stage.space.clients.commands.set(owner, 'other:2');
      return run();
    };
    void stage.start(scheduler, await stage.accept([ADA]));
    await eventually(() => stage.failed.length > 0, { everyMs: 1 });
    expect(stage.failed[0]).to.be.instanceOf(FencedError);
    expect(recipients()).to.deep.equal([]);
  });

  describe('of a list that is over in the middle', () => {
    async function begin(): Promise<{
      scheduler: DeviceScheduler;
      list: string;
      ended: Promise<void>;
      answer(): void;
    }> {
      const ack = defer<Answer>();
      stage.network.answer = () => ack.promise;
      const { scheduler } = open();
      const list = await stage.accept(numbers(100), { expiresInMs: 60_000 });
      const ended = stage.start(scheduler, list);
      await stage.sentTo(32);
      return { scheduler, list, ended, answer: () => ack.resolve(ACCEPTED) };
    }

    it('because it was cancelled, sends nothing more and writes down what becomes of those in flight', async () => {
      const { scheduler, list, ended, answer } = await begin();
      expect(await cancelSend(stage.space.store, ADDRESS, list as MessageId)).to.deep.equal({ cancelled: 68 });
      await scheduler.refresh();
      answer();
      await ended;
      expect(await stage.counts(list)).to.include({ sent: 32, cancelled: 68 });
      expect(recipients()).to.have.length(32);
    });

    it('because its time is over, sends nothing more', async () => {
      const { scheduler, list, ended, answer } = await begin();
      await stage.pass(60_000, scheduler);
      answer();
      await ended;
      expect((await stage.counts(list)).expired).to.be.within(68, 100);
      expect(recipients()).to.have.length(32);
    });

    it('finds at the claim what it has not heard of yet', async () => {
      const { scheduler } = open();
      const [cancelled, expired] = [await stage.accept([ADA]), await stage.accept([BEN], { expiresInMs: 1_000 })];
      stage.steps.between = async (step, run) => {
        if (step === 'claim-recipient') await cancelSend(stage.space.store, ADDRESS, cancelled);
        return run();
      };
      await stage.start(scheduler, cancelled);
      stage.network.lookUp = () => {
        stage.leap(500);
        return { exists: true };
      };
      await stage.start(scheduler, expired);
      expect(recipients()).to.deep.equal([]);
      expect(await stage.statuses(cancelled)).to.deep.equal(['cancelled']);
      expect(await stage.statuses(expired)).to.deep.equal(['expired']);
    });
  });

  it('sends nothing from the moment on in which it stops', async () => {
    const ack = defer<Answer>();
    stage.network.answer = () => ack.promise;
    const { scheduler } = open();
    const list = await stage.accept(numbers(100));
    const ended = stage.start(scheduler, list);
    await stage.sentTo(32);
    const stopped = scheduler.stop();
    ack.resolve(ACCEPTED);
    await stopped;
    await ended;
    expect(await stage.counts(list), 'the last acks are written down').to.include({ sent: 32, queued: 68 });
  });
});
