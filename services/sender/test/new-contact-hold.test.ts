import type { Restriction } from '@gateway/contracts/restriction';
import type { MessengerSession } from '@gateway/messenger/session-types';
import { FencedError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logger';
import { createMetrics } from '@gateway/runtime/metrics';
import { NewContactHold } from '@gateway/sender/new-contact-hold';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import { acquireLease, type Lease, releaseLease } from '@gateway/store/leases';
import { readRestriction } from '@gateway/store/restrictions';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'a' };
const MINUTE_MS = 60_000;

describe('the hold of messages to new contacts', () => {
  let space: RedisSpace;
  let lease: Lease;
  let nowMs: number;
  let calls: string[];
  /** What the network says when it is asked, and how often it was. */
  let said: Restriction | undefined | Error;
  let questions: number;

  beforeEach(async () => {
    space = await openRedisSpace();
    lease = (await acquireLease(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
    [nowMs, calls, said, questions] = [1_000_000, [], undefined, 0];
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
      ...{ store: space.store, lease, metrics },
      logger: createLogger({ service: 'test', level: 'silent' as 'error' }),
      clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
      onHeld: () => calls.push('held'),
      onReconsider: () => calls.push('reconsider'),
      onFailed: (error) => calls.push(error instanceof FencedError ? 'fenced' : error.message),
    });
  }
  const session = {
    readRestriction: async () => {
      questions++;
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
    const verdict = hold.wasRefused('17');
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
    expect(await Promise.all(['1', '2', '3'].map((to) => hold.wasRefused(to)))).to.deep.equal([true, true, true]);
    expect(await hold.wasRefused('4')).to.equal(true);
    expect(questions).to.equal(1);
    hold.stop();
  });

  it('lets the others go on when the network knows of no restriction', async () => {
    const hold = attached();
    expect(await hold.wasRefused('17')).to.equal(false);
    expect(hold.isOn).to.equal(false);
    expect(calls).to.deep.equal(['held', 'reconsider']);
    expect(await stored()).to.equal(undefined);
  });

  it('ends when the network says so, and not by the clock', async () => {
    const hold = attached();
    said = { kind: 'reach_out_time_lock', untilMs: nowMs + MINUTE_MS };
    await hold.wasRefused('17');
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
      return calls.includes('reconsider');
    });
    expect(hold.isOn).to.equal(false);
    expect(await stored()).to.equal(undefined);
    expect(await hold.findKnown(session, ['17'])).to.deep.equal(new Set(['17']));
  });

  it('asks now and then whether a long one was lifted early, and at once when there are news', async () => {
    const hold = attached();
    said = { kind: 'reach_out_time_lock', untilMs: nowMs + 600 * MINUTE_MS };
    await hold.wasRefused('17');
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
    expect(await hold.wasRefused('17')).to.equal(true);
    expect(await stored()).to.deep.equal({ kind: 'reach_out_time_lock', sinceMs: nowMs });
    said = undefined;
    nowMs += 5_000;
    hold.tick();
    await eventually(() => !hold.isOn);
  });

  it('is taken over by the next owner, who asks as soon as it can', async () => {
    const untilMs = nowMs + MINUTE_MS;
    said = { kind: 'reach_out_time_lock', untilMs };
    const former = attached();
    await former.wasRefused('17');
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

  it('takes nobody for a stranger who has written since', async () => {
    const hold = attached();
    said = { kind: 'new_chat_cap' };
    await hold.wasRefused('17');
    expect(await hold.findKnown(session, ['17'])).to.deep.equal(new Set());
    hold.metSomebody('17');
    expect(await hold.findKnown(session, ['17'])).to.deep.equal(new Set(['17']));
    hold.stop();
  });

  it('has those who wait looked at again after somebody wrote to us, once a minute at most', async () => {
    const hold = attached();
    hold.metSomebody('1');
    said = { kind: 'new_chat_cap' };
    await hold.wasRefused('2');
    hold.metSomebody('1');
    nowMs += 30_000;
    hold.metSomebody('1');
    hold.tick();
    expect(calls).not.to.include('reconsider');
    nowMs += 30_000;
    hold.tick();
    hold.tick();
    expect(calls.filter((call) => call === 'reconsider')).to.have.length(1);
    hold.stop();
  });

  it('lets no stale owner write', async () => {
    const hold = attached();
    await releaseLease(space.store, lease);
    said = { kind: 'new_chat_cap' };
    expect(await hold.wasRefused('2').catch((thrown: unknown) => thrown)).to.be.instanceOf(FencedError);
    hold.hasNews();
    hold.tick();
    await eventually(() => calls.includes('fenced'));
    hold.stop();
  });
});
