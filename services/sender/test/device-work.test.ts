import { defaultPace } from '@gateway/contracts/devices/pace';
import type { MessageId } from '@gateway/contracts/ids';
import type { SendJob } from '@gateway/contracts/jobs';
import { DeviceWork, type WorkDeps } from '@gateway/sender/device/device-work';
import { MemoryBudget } from '@gateway/sender/scheduling/memory-budget';
import { ResultWriter } from '@gateway/sender/scheduling/result-writer';
import { ensureDevice, readDevice, setPace } from '@gateway/store/devices/devices';
import { deviceKeyStore, readAllKeys } from '@gateway/store/devices/keys/device-keys';
import { askOwner, readAnswerParts } from '@gateway/store/devices/questions/owner-questions';
import { cancelSend, forgetRecipient } from '@gateway/store/sends/change-send';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import PQueue from 'p-queue';
import { ADDRESS, useScheduler } from './support/scheduler-stage.js';

const PEOPLE = ['491511', '491512', '491513'];
const ADA = '447700900001';
const DAY_MS = 86_400_000;
/** Buckets of keys, one a minute. */
const ROUND = 256;

describe('the work of a device', () => {
  let work: DeviceWork;
  // Before its stage is taken down.
  afterEach(() => work.stop());
  const stage = useScheduler();
  let forgotten: string[];

  beforeEach(async () => {
    const { store, ownership, clock, logger, metrics, ids, failed } = stage;
    await ensureDevice(stage.space.store, ADDRESS);
    forgotten = [];
    const deps: Omit<WorkDeps, 'keeper' | 'endpoint' | 'openSession' | 'clientVersion' | 'openings' | 'ackTimeoutMs'> =
      {
        ...{ store, ownership, clock, logger, metrics, ids },
        results: new ResultWriter({ store, ownership, clock, metrics }),
        device: (await readDevice(store, ADDRESS))!,
        ...{ defaultPace: defaultPace(0), uploads: new PQueue(), memory: new MemoryBudget() },
        isCareful: () => false,
        onFailed: (error) => void failed.push(error),
        onStalled: () => {},
        forgetPerson: async (number) => {
          forgotten.push(number);
          return {};
        },
      };
    work = new DeviceWork(deps as WorkDeps);
  });

  it('begins with what was accepted before', async () => {
    await stage.accept(PEOPLE);
    await work.start();
    expect(await work.refreshSends()).to.equal(undefined);
    work.attach(stage.makeSession());
    expect((await stage.sentTo(3)).sort()).to.deep.equal(PEOPLE);
  });

  it('begins with all codes that were accepted before, of which no job tells', async () => {
    // More than are read at once.
    const people = Array.from({ length: 101 }, (_, i) => `${49_151_000 + i}`);
    for (const person of people) await stage.accept([person], { kind: 'otp' });
    await work.start();
    work.attach(stage.makeSession());
    expect((await stage.sentTo(101)).sort()).to.deep.equal(people);
  });

  it('finds what was accepted or cancelled since, for all who ask at the same time in one run', async () => {
    await work.start();
    const cancelled = await stage.accept(PEOPLE.slice(0, 1));
    await work.refreshSends();
    await eventually(() => !work.isIdle);
    await cancelSend(stage.store, ADDRESS, cancelled);
    let looks = 0;
    stage.steps.between = (step, run) => {
      if (step === 'take-in-sends') looks++;
      return run();
    };
    await stage.accept(PEOPLE.slice(1, 2));
    const asked = [work.refreshSends(), work.refreshSends(), work.refreshSends()];
    expect(new Set(asked).size).to.equal(1);
    await Promise.all(asked);
    await eventually(() => looks === 1);
    work.attach(stage.makeSession());
    await stage.sentTo(1);
    expect(stage.sent.map(({ to }) => to)).to.deep.equal(PEOPLE.slice(1, 2));
  });

  it('takes a code in when a doorbell tells of it, and not once more when its job comes', async () => {
    let looks = 0;
    stage.steps.between = (step, run) => {
      if (step === 'take-in-sends') looks++;
      return run();
    };
    await work.start();
    work.attach(stage.makeSession());
    const rung = await acceptCode();
    await work.takeJob(rung, 'doorbell');
    await work.takeJob(rung);
    await stage.sentTo(1);
    expect(looks).to.equal(1);
    await work.takeJob(await acceptCode());
    expect(await stage.sentTo(2), 'without a doorbell').to.deep.equal([ADA, ADA]);
    await work.takeJob(rung);
    expect(looks, 'a later job, for which somebody had a reason').to.equal(3);
  });

  it('expects no more than a hundred jobs at a time', async () => {
    await work.start();
    const rung = await acceptCode();
    await work.takeJob(rung, 'doorbell');
    const asJob = (index: number) => ({ ...rung, messageId: `msg_${String(index).padStart(24, '0')}` as MessageId });
    for (let index = 0; index < 100; index++) void work.takeJob(asJob(index), 'doorbell');
    let isTaken = false;
    stage.steps.between = (step, run) => {
      isTaken ||= step === 'take-in-sends';
      return run();
    };
    await work.takeJob(asJob(99));
    expect(isTaken).to.equal(false);
    await work.takeJob(rung);
    expect(isTaken).to.equal(true);
  });

  async function acceptCode(): Promise<SendJob> {
    const messageId = await stage.accept([ADA], { kind: 'otp' });
    return { v: 1, ...ADDRESS, messageId, priority: 'otp', requestId: 'r' };
  }

  it('goes on at another pace once an operator has given it one', async () => {
    await setPace(stage.store, ADDRESS, { messagesPerMinute: 1, burst: 1, jitter: 0 });
    await work.refreshPace();
    await stage.accept(PEOPLE);
    await work.start();
    work.attach(stage.makeSession());
    await stage.sentTo(1);
    const counts = { waiting: 0, ready: 0, alone: 0, pausing: 0, held: 0, inFlight: 0 };
    await eventually(() => {
      Object.assign(counts, { waiting: 0, ready: 0 });
      work.countPlaces(counts);
      return counts.waiting + counts.ready === 2;
    });
    expect(stage.sent).to.have.length(1);
  });

  it('answers what its owner is asked, and forgets people', async () => {
    await work.start();
    await askOwner(stage.store, ADDRESS, { id: 'q', question: { kind: 'forget', number: ADA } });
    work.answerQuestions();
    await eventually(async () => (await readAnswerParts(stage.store, ADDRESS, 'q')).size === 1);
    expect(forgotten).to.deep.equal([ADA]);
    await work.stop();
    await askOwner(stage.store, ADDRESS, { id: 'late', question: { kind: 'forget', number: ADA } });
    work.answerQuestions();
    expect(forgotten, 'nothing once it has ended').to.have.length(1);
  });

  it('looks up no one again who was forgotten while a message waited for them', async () => {
    const lookedUp: string[] = [];
    stage.network.lookUp = (number) => {
      lookedUp.push(number);
      return { exists: true };
    };
    await setPace(stage.store, ADDRESS, { messagesPerMinute: 1, burst: 1, jitter: 0 });
    await work.refreshPace();
    const tag = stage.tagOf(await stage.accept([PEOPLE[0]!, ADA]));
    await work.start();
    work.attach(stage.makeSession());
    await stage.sentTo(1);
    await eventually(() => lookedUp.includes(ADA));

    await forgetRecipient(stage.store, ADDRESS, tag, ADA);
    await askOwner(stage.store, ADDRESS, { id: 'q', question: { kind: 'forget', number: ADA } });
    work.answerQuestions();
    await eventually(async () => (await readAnswerParts(stage.store, ADDRESS, 'q')).size === 1);
    lookedUp.length = 0;
    work.scheduler.forgetLookUps();
    stage.leap(120_000);
    await work.refreshSends();
    await eventually(() => work.isIdle);
    expect(lookedUp).to.deep.equal([]);
    expect(stage.sent.map(({ to }) => to)).to.deep.equal([PEOPLE[0]]);
  });

  it('deletes keys that no one has used for long', async () => {
    const { ownership } = stage;
    const key = { type: 'session', id: '1_1.0', value: Buffer.from('"key"') };
    await deviceKeyStore(stage.space.store, ownership).commit({ keys: [key] });
    stage.leap(31 * DAY_MS);
    const countKeys = async () => {
      let keys = 0;
      for await (const _ of readAllKeys(stage.space.store, ADDRESS)) keys++;
      return keys;
    };
    for (let minute = 0; minute < ROUND; minute++) {
      stage.leap(60_000);
      await work.prune();
    }
    expect(await countKeys()).to.equal(0);
  });
});
