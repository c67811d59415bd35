import type { Restriction } from '@gateway/contracts/restriction';
import type { MessengerSession } from '@gateway/messenger/session-types';
import { FencedError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logger';
import { createMetrics } from '@gateway/runtime/metrics';
import { NewContactHold } from '@gateway/sender/new-contact-hold';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import { acquireLease, type Lease, releaseLease } from '@gateway/store/leases';
import { readRefusedContacts, readRestriction } from '@gateway/store/restrictions';
import type { Store } from '@gateway/store/store';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'a' };
const MINUTE_MS = 60_000;

describe('the hold of messages to new contacts', () => {
  let space: RedisSpace;
  let store: Store;
  let lease: Lease;
  let nowMs: number;
  let calls: string[];
  /** What the network says when it is asked, and how often it was. */
  let said: Restriction | undefined | Error;
  let questions: number;
  /** About which limit. */
  let abouts: unknown[];
  /** The numbers of those who wait. */
  let waiting: string[];

  beforeEach(async () => {
    space = await openRedisSpace();
    store = space.store;
    lease = (await acquireLease(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
    [nowMs, calls, said, questions] = [1_000_000, [], undefined, 0];
    [abouts, waiting] = [[], []];
  });
  afterEach(() => space.close());

  const registry = createMetrics('test');
  const metrics = createSenderMetrics(registry, () => ({}));
  async function restrictedDevices(): Promise<number> {
    const { values } = await registry.getSingleMetric('gateway_restricted_devices')!.get();
    return values.reduce((sum, { value }) => sum + value, 0);
  }
  function makeHold(): NewContactHold {
    return new NewContactHold({
      ...{ store, lease, metrics },
      logger: createLogger({ service: 'test', level: 'silent' as 'error' }),
      clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
      onHeld: () => calls.push('held'),
      onLifted: () => calls.push('lifted'),
      onMet: (phone) => calls.push(`met ${phone}`),
      findHeld: () => waiting[0],
      onFailed: (error) => calls.push(error instanceof FencedError ? 'fenced' : error.message),
    });
  }
  const session = {
    readRestriction: async (about) => {
      questions++;
      abouts.push(about);
      if (said instanceof Error) throw said;
      return said;
    },
    findAcquainted: async (numbers: readonly string[]) => new Set(numbers.filter((number) => number.startsWith('1'))),
  } as Partial<MessengerSession> as MessengerSession;
  function attached(hold = makeHold()): NewContactHold {
    hold.attach(session);
    return hold;
  }
  const stored = () => readRestriction(space.store, address);

  it('holds at the first refusal, before the network has said until when', async () => {
    const hold = attached();
    said = { kind: 'reach_out_time_lock', untilMs: nowMs + 90_000 };
    const verdict = hold.wasRefused('17', 463);
    expect(hold.isOn).to.equal(true);
    expect(calls).to.deep.equal(['held']);
    expect(await verdict).to.equal(true);
    expect(await stored()).to.deep.equal({ ...said, sinceMs: nowMs });
    expect([...(await hold.findKnown(session, ['17', '18', '29']))], 'it was refused as a stranger').to.deep.equal([
      '18',
    ]);
    expect(await restrictedDevices()).to.equal(1);
    hold.stop();
    expect(await restrictedDevices()).to.equal(0);
  });

  it('asks once for many refusals', async () => {
    const hold = attached();
    said = { kind: 'new_chat_cap' };
    expect(await Promise.all(['1', '2', '3'].map((to) => hold.wasRefused(to, 463)))).to.deep.equal([true, true, true]);
    expect(await hold.wasRefused('4', 463)).to.equal(true);
    expect(questions).to.equal(1);
    hold.stop();
  });

  it('asks again for a refusal that comes while the answer to the one before is written down', async () => {
    const hold = attached();
    said = { kind: 'reach_out_time_lock' };
    await hold.wasRefused('17', 463);
    said = undefined;
    let write = () => {};
    const written = new Promise<void>((resolve) => {
      write = resolve;
    });
    const { run } = space.store;
    let isWriting = false;
    store.run = async (...args) => {
      isWriting = true;
      await written;
      return run(...args);
    };
    hold.hasNews();
    await eventually(() => {
      hold.tick();
      return isWriting;
    });
    expect(questions, 'it was lifted').to.equal(2);

    said = { kind: 'new_chat_cap', untilMs: nowMs + MINUTE_MS };
    const verdict = hold.wasRefused('18', 463);
    write();
    expect(await verdict).to.equal(true);
    expect(questions).to.equal(3);
    expect(calls, 'those who wait are not let go in between').to.deep.equal(['held', 'held']);
    expect(await stored()).to.deep.equal({ ...said, sinceMs: nowMs });
    said = undefined;
    nowMs += MINUTE_MS;
    await eventually(() => {
      hold.tick();
      return calls.includes('lifted');
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
    expect(questions).to.be.greaterThan(1);
    expect(calls.filter((call) => call === 'lifted')).to.have.length(questions);
  });

  it('lets the others go on when the network knows of no restriction', async () => {
    const hold = attached();
    expect(await hold.wasRefused('17', 463)).to.equal(false);
    expect(hold.isOn).to.equal(false);
    expect(calls).to.deep.equal(['held', 'lifted']);
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
    said = { kind: 'reach_out_time_lock', untilMs: nowMs + MINUTE_MS };
    answers[1]!();
    expect(await Promise.all(verdicts)).to.deep.equal([false, true, true]);
    expect(questions).to.equal(2);
    session.readRestriction = read;
    hold.stop();
  });

  it('knows for a while that a restriction was announced: it may explain a refusal though it is over', () => {
    const hold = attached();
    expect(hold.hasLateNews, 'a login is no news').to.equal(false);
    hold.hasNews();
    nowMs += 9_999;
    expect(hold.hasLateNews).to.equal(true);
    nowMs += 1;
    expect(hold.hasLateNews).to.equal(false);
  });

  it('ends when the network says so, and not by the clock', async () => {
    const hold = attached();
    said = { kind: 'reach_out_time_lock', untilMs: nowMs + MINUTE_MS };
    await hold.wasRefused('17', 463);
    nowMs += MINUTE_MS - 1;
    hold.tick();
    expect(questions, 'not before its end').to.equal(1);
    nowMs += 1;
    hold.tick();
    await eventually(() => questions === 2);
    // Its answer is read in the microtasks of this turn.
    await new Promise(setImmediate);
    said = undefined;
    nowMs += 4_999;
    hold.tick();
    expect(questions, 'the clock of the network is behind ours').to.equal(2);
    expect(hold.isOn).to.equal(true);
    nowMs += 1;
    await eventually(() => {
      hold.tick();
      return calls.includes('lifted');
    });
    expect(hold.isOn).to.equal(false);
    expect(await stored()).to.equal(undefined);
    expect(await hold.findKnown(session, ['17'])).to.deep.equal(new Set(['17']));
  });

  it('asks now and then whether a long one was lifted early, and at once when there are news', async () => {
    const hold = attached();
    said = { kind: 'reach_out_time_lock', untilMs: nowMs + 600 * MINUTE_MS };
    await hold.wasRefused('17', 463);
    nowMs += 15 * MINUTE_MS;
    hold.tick();
    await eventually(() => questions === 2);
    hold.hasNews();
    said = undefined;
    await eventually(() => {
      hold.tick();
      return !hold.isOn;
    });
  });

  it('holds on news alone', async () => {
    const hold = attached();
    said = { kind: 'new_chat_cap' };
    hold.hasNews();
    hold.tick();
    await eventually(stored);
    expect(calls).to.deep.equal(['held']);
    hold.stop();
  });

  it('holds, and asks again, when the network does not answer', async () => {
    const hold = attached();
    said = new Error('silence');
    expect(await hold.wasRefused('17', 463)).to.equal(true);
    expect(await stored()).to.deep.equal({ kind: 'reach_out_time_lock', sinceMs: nowMs });
    said = undefined;
    nowMs += 5_000;
    hold.tick();
    await eventually(() => !hold.isOn);
  });

  it('asks a network that does not answer after pauses that double, up to a quarter of an hour', async () => {
    const hold = attached();
    said = new Error('silence');
    await hold.wasRefused('17', 463);
    for (const seconds of [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]) {
      const before = questions;
      nowMs += seconds * 1000 - 1;
      hold.tick();
      expect(questions, `before ${seconds} s`).to.equal(before);
      nowMs += 1;
      hold.tick();
      expect(questions, `after ${seconds} s`).to.equal(before + 1);
      await new Promise(setImmediate);
    }
    expect(hold.isOn).to.equal(true);
    attached(hold).tick();
    expect(questions, 'at once on a new connection').to.equal(12);
    hold.stop();
  });

  const answered = () => new Promise(setImmediate);

  it('asks at the login and every hour whether the account is restricted, before anything is refused', async () => {
    const hold = attached();
    hold.tick();
    await answered();
    expect(abouts).to.deep.equal([undefined]);
    hold.tick();
    expect(questions, 'once').to.equal(1);
    nowMs += 60 * MINUTE_MS - 1;
    hold.tick();
    expect(questions, 'not before an hour').to.equal(1);
    said = { kind: 'new_chat_cap', untilMs: nowMs + 30 * MINUTE_MS };
    nowMs += 15 * MINUTE_MS + 1;
    hold.tick();
    await eventually(stored);
    expect(questions).to.equal(2);
    expect(calls).to.deep.equal(['held']);
    hold.stop();
  });

  it('takes 475 for a used-up quota, and asks about that', async () => {
    const hold = attached();
    said = new Error('silence');
    expect(await hold.wasRefused('17', 475)).to.equal(true);
    expect(abouts).to.deep.equal(['new_chat_cap']);
    expect(await stored()).to.deep.equal({ kind: 'new_chat_cap', sinceMs: nowMs });
    hold.stop();
  });

  it('asks again when a message is refused while it asks about something else', async () => {
    const hold = attached();
    hold.tick();
    expect(await hold.wasRefused('17', 475)).to.equal(false);
    expect(abouts).to.deep.equal([undefined, 'new_chat_cap']);
  });

  describe('when the network does not answer', () => {
    /** Asks when it is due, without an answer. */
    async function pass(hold: NewContactHold, ms: number): Promise<void> {
      nowMs += ms;
      hold.tick();
      await answered();
      hold.tick();
    }
    async function held(): Promise<NewContactHold> {
      const hold = attached();
      said = new Error('silence');
      await hold.wasRefused('17', 463);
      waiting = ['17', '18'];
      hold.tick();
      await answered();
      return hold;
    }

    it('tries people one at a time after ten minutes, and lets go of the others when one is accepted', async () => {
      const hold = await held();
      await pass(hold, 10 * MINUTE_MS - 1);
      expect(calls).to.deep.equal(['held']);
      await pass(hold, 1);
      expect(calls).to.deep.equal(['held', 'met 17']);
      expect(['17', '18'].map((number) => hold.holds(number))).to.deep.equal([false, true]);
      await hold.wasAccepted('29');
      expect(hold.isOn, 'an acquaintance proves nothing').to.equal(true);
      await hold.wasAccepted('17');
      expect(hold.isOn).to.equal(false);
      expect(calls).to.deep.equal(['held', 'met 17', 'lifted']);
      expect(await stored()).to.equal(undefined);
    });

    it('takes the refusal of the one who was tried for final, and tries the next a quarter of an hour later', async () => {
      const hold = await held();
      await pass(hold, 10 * MINUTE_MS);
      expect(await hold.wasRefused('17', 463), 'final').to.equal(false);
      expect(await hold.wasRefused('19', 463), 'was under way').to.equal(true);
      expect(hold.isOn).to.equal(true);
      waiting = ['18'];
      await pass(hold, 15 * MINUTE_MS - 1);
      expect(calls).to.deep.equal(['held', 'met 17']);
      await pass(hold, 1);
      expect(calls).to.deep.equal(['held', 'met 17', 'met 18']);
      expect(await hold.wasRefused('18', 463)).to.equal(false);
      hold.stop();
    });

    it('makes no attempt before the end that the network named, nor while it answers', async () => {
      const hold = attached();
      said = { kind: 'reach_out_time_lock', untilMs: nowMs + 60 * MINUTE_MS };
      await hold.wasRefused('17', 463);
      waiting = ['18'];
      await pass(hold, 30 * MINUTE_MS);
      expect(calls, 'it answers').to.deep.equal(['held']);
      said = new Error('silence');
      await pass(hold, 29 * MINUTE_MS);
      expect(calls, 'it has named an end').to.deep.equal(['held']);
      await pass(hold, MINUTE_MS);
      await pass(hold, 10 * MINUTE_MS);
      expect(calls).to.deep.equal(['held', 'met 18']);
      hold.stop();
    });

    it('ends for the next owner too', async () => {
      (await held()).stop();
      const next = makeHold();
      await next.load();
      next.attach(session);
      await pass(next, 0);
      await pass(next, 10 * MINUTE_MS);
      expect(calls.at(-1)).to.equal('met 17');
      next.stop();
    });
  });

  it('is taken over by the next owner, who asks as soon as it can', async () => {
    const untilMs = nowMs + MINUTE_MS;
    said = { kind: 'reach_out_time_lock', untilMs };
    const former = attached();
    await former.wasRefused('17', 463);
    former.stop();
    const next = makeHold();
    await next.load();
    expect(next.isOn).to.equal(true);
    expect(await next.findKnown(session, ['17', '18'])).to.deep.equal(new Set(['18']));
    nowMs = untilMs + 1;
    next.tick();
    expect(questions, 'there is no connection yet').to.equal(1);
    said = undefined;
    attached(next).tick();
    await eventually(() => !next.isOn);
    expect(await stored()).to.equal(undefined);
  });

  it('takes nobody for a stranger who has written since, in whatever way their number is written', async () => {
    const [typed, written] = ['551187654321', '5511987654321'];
    const hold = attached();
    hold.metSomebody(written);
    expect(calls, 'nobody waits').to.deep.equal([]);
    said = { kind: 'new_chat_cap' };
    await hold.wasRefused(typed, 463);
    expect(await readRefusedContacts(space.store, address)).to.deep.equal([written]);
    expect(await hold.findKnown(session, ['17', typed, written])).to.deep.equal(new Set(['17']));
    expect([typed, written].map((number) => hold.holds(number))).to.deep.equal([true, true]);
    hold.metSomebody(written);
    expect(calls).to.deep.equal(['held', `met ${written}`]);
    expect(await hold.findKnown(session, ['17', typed, written])).to.deep.equal(new Set(['17', typed, written]));
    expect([typed, written].map((number) => hold.holds(number))).to.deep.equal([false, false]);
    await hold.wasRefused(typed, 463);
    expect(hold.holds(written), 'the network has the last word').to.equal(true);
    hold.stop();
  });

  it('lets no stale owner write', async () => {
    const hold = attached();
    await releaseLease(space.store, lease);
    said = { kind: 'new_chat_cap' };
    expect(await hold.wasRefused('2', 463).catch((thrown: unknown) => thrown)).to.be.instanceOf(FencedError);
    hold.hasNews();
    hold.tick();
    await eventually(() => calls.includes('fenced'));
    hold.stop();
  });
});
