import { deviceKeys } from '@gateway/contracts/redis-keys';
import { ownErrorCode } from '@gateway/contracts/sends/recipient-errors';
import type { SessionEvent } from '@gateway/messenger/session/session-events';
import { FencedError, GatewayError } from '@gateway/runtime/errors';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { takeSessionEvent } from '@gateway/sender/device/take-session-event';
import type { DeviceScheduler } from '@gateway/sender/scheduling/device-scheduler';
import { ResultWriter } from '@gateway/sender/scheduling/result-writer';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import { readInbound } from '@gateway/store/inbound/received-messages';
import { OptOutJoins } from '@gateway/store/workspace/opt-out-joins';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { giveDeviceBack } from '@gateway/testkit/ownership';
import type { ScriptedSession } from '@gateway/testkit/scripted-session';
import { expect } from 'chai';
import { useScheduler } from './support/scheduler-stage.js';

const [ADA, BEN] = ['491517000001', '491517000002'] as const;
const HELD = `queued ${ownErrorCode('new_contacts_held')}`;

describe('what a session reports', () => {
  const stage = useScheduler();
  let scheduler: DeviceScheduler;
  let session: ScriptedSession;
  let joins: OptOutJoins;
  let toSocket: unknown[][];
  let readMetrics: () => Promise<string>;

  beforeEach(() => {
    scheduler = stage.makeScheduler();
    joins = new OptOutJoins(stage);
    toSocket = [];
    const registry = createMetrics();
    readMetrics = () => registry.metrics();
    const note =
      (name: string) =>
      (...args: unknown[]) =>
        void toSocket.push([name, ...args]);
    const socket = { opened: note('opened'), renamed: note('renamed'), noteVersionDeadline: note('deadline') };
    const deps = {
      ...{ ...stage, results: new ResultWriter(stage), work: { scheduler, joins } },
      metrics: createSenderMetrics(registry, () => ({})),
      socket: { ...socket, closed: async (...args: unknown[]) => note('closed')(...args) },
      onFailed: (error: Error) => void stage.failed.push(error),
    };
    session = stage.makeSession((event: SessionEvent) => takeSessionEvent(deps, event));
    scheduler.attach(session);
    joins.attach(session);
  });
  afterEach(() => joins.detach());

  const message = (from: { phone?: string; hiddenId?: string }, text: string) => ({
    kind: 'message' as const,
    message: {
      platformId: '1',
      jid: 'x',
      atMs: stage.clock.nowMs(),
      text,
      content: { type: 'text' as const },
      ...from,
    },
  });
  async function sendTo(...to: string[]): Promise<string> {
    const list = await stage.accept(to);
    await stage.start(scheduler, list);
    return list;
  }

  it('of its own life goes to the socket', async () => {
    const account = { jid: `${ADA}@s.whatsapp.net`, phone: ADA };
    await session.report({ kind: 'versionDeadline', expiresAtMs: 17 });
    await session.report({ kind: 'open', account });
    await session.report({ kind: 'renamed', name: 'Ada' });
    await session.close();
    expect(toSocket).to.deep.equal([
      ['deadline', 17],
      ['opened', account],
      ['renamed', 'Ada'],
      ['closed', { kind: 'closedByUs' }, {}],
    ]);
  });

  it('is written down, what people wrote and wish, before the network hears that it arrived', async () => {
    await session.report(message({ phone: ADA }, 'STOP'));
    expect(await findOptOut(stage.space.store, 'main', ADA)).to.include({ source: 'reply' });
    await session.report(message({ phone: ADA }, 'START'));
    expect(await findOptOut(stage.space.store, 'main', ADA)).to.equal(undefined);
  });

  it('has what waits for its turn asked again, also where the step of a wish came twice', async () => {
    let asked = 0;
    const { optOutsChanged } = scheduler;
    scheduler.optOutsChanged = () => {
      asked++;
      optOutsChanged.call(scheduler);
    };
    for (const expected of [1, 2]) {
      await session.report(message({ phone: ADA }, 'STOP'));
      expect(asked).to.equal(expected);
    }
    await session.report(message({ phone: ADA }, 'hello'));
    expect(asked, 'no wish').to.equal(2);
  });

  it('is written again until replicas have it, before the network hears that it arrived', async () => {
    const { store } = stage;
    const confirm = store.confirmWrites;
    let asked = 0;
    const lost = () => store.redis.del(deviceKeys(store.space, stage.ownership.address).received);
    // A master that is cut off takes the message, and is not the master afterwards.
    store.confirmWrites = async () => {
      if (++asked > 2) return;
      await lost();
      throw new GatewayError({ code: 'not_confirmed', message: 'a replica has left' });
    };
    try {
      await session.report(message({ phone: ADA }, 'hello'));
    } finally {
      store.confirmWrites = confirm;
    }
    const wanted = { receivedId: '1', nowMs: stage.clock.nowMs() };
    expect(await readInbound(store, stage.ownership.address, wanted)).to.include({ text: 'hello' });
    expect([asked, stage.failed]).to.deep.equal([3, []]);
  });

  it('ends no owner while replicas confirm nothing: receipts are written, and the network hears of them afterwards', async () => {
    const { store } = stage;
    const confirm = store.confirmWrites;
    let isAway = true;
    let asked = 0;
    store.confirmWrites = async () => {
      asked++;
      stage.leap(60_000);
      if (isAway) throw new GatewayError({ code: 'not_confirmed', message: '0 of 1 replicas' });
    };
    try {
      const list = await sendTo(ADA);
      await eventually(async () => (await stage.counts(list)).sent === 1, { everyMs: 1 });
      const platformIds = stage.sent.map(({ platformId }) => platformId);
      let isTold = false;
      const receipt = { kind: 'delivered' as const, platformIds, atMs: 1 };
      const told = Promise.resolve(session.report({ kind: 'receipt', receipt })).then(() => {
        isTold = true;
      });
      await eventually(async () => (await stage.statuses(list))[0] === 'delivered', { everyMs: 1 });
      await eventually(() => asked >= 2, { everyMs: 1 });
      expect([isTold, stage.failed]).to.deep.equal([false, []]);
      isAway = false;
      await told;
      expect(stage.failed).to.deep.equal([]);
    } finally {
      store.confirmWrites = confirm;
    }
  });

  it('of more receipts than 200 waits for no replicas: the network repeats them at the next login', async () => {
    const { store } = stage;
    const confirm = store.confirmWrites;
    let isAway = true;
    let refused = 0;
    store.confirmWrites = async () => {
      if (!isAway) return;
      refused++;
      throw new GatewayError({ code: 'not_confirmed', message: '0 of 1 replicas' });
    };
    let told = 0;
    const receipt = { kind: 'read' as const, platformIds: ['other'], atMs: 1 };
    for (let i = 0; i < 205; i++) {
      void Promise.resolve(session.report({ kind: 'receipt', receipt: { ...receipt } })).then(() => told++);
    }
    await eventually(() => refused >= 205 + 200, { everyMs: 1 });
    isAway = false;
    await eventually(() => told === 200, { everyMs: 1 });
    await session.report({ kind: 'receipt', receipt });
    store.confirmWrites = confirm;
    expect([told, stage.failed]).to.deep.equal([200, []]);
  });

  it('lets go who wrote, where strangers are held', async () => {
    let isLocked = true;
    Object.assign(stage.network, {
      isAcquainted: () => false,
      restriction: () => (isLocked ? { kind: 'reach_out_time_lock' } : undefined),
    });
    await session.report({ kind: 'restrictionNews' });
    await scheduler.refresh();
    await eventually(() => scheduler.hold.isOn, { everyMs: 1 });
    const list = await sendTo(ADA, BEN);
    expect(await stage.statuses(list)).to.deep.equal([HELD, HELD]);
    await session.report(message({ phone: BEN }, 'hello'));
    await eventually(async () => (await stage.counts(list)).sent === 1, { everyMs: 1 });
    expect(await stage.statuses(list)).to.deep.equal([HELD, 'sent']);
    isLocked = false;
    await session.report({ kind: 'restrictionNews' });
    await scheduler.refresh();
    await eventually(async () => (await stage.counts(list)).sent === 2, { everyMs: 1 });
  });

  it('of names joins the wish of a person without a number, and lets go who wrote without one', async () => {
    stage.network.hiddenIdOf = (number) => (number === ADA ? '17@lid' : undefined);
    await session.report(message({ hiddenId: '17@lid' }, 'STOP'));
    await session.report({ kind: 'numbersKnown', people: [{ phone: ADA, hiddenId: '17@lid' }] });
    await eventually(() => findOptOut(stage.space.store, 'main', ADA), { everyMs: 1 });
  });

  it('of receipts is written down, for our own messages', async () => {
    const list = await sendTo(ADA, BEN);
    const { platformId } = stage.sent[0]!;
    for (const kind of ['delivered', 'read'] as const) {
      await session.report({ kind: 'receipt', receipt: { platformIds: [platformId, 'other'], kind, atMs: 1 } });
      expect(await stage.statuses(list)).to.deep.equal([kind, 'sent']);
    }
  });

  it('of an ack that is taken back fails what counted as sent, or has it go out again by a later owner', async () => {
    const list = await sendTo(ADA, BEN);
    const [ada, ben] = stage.sent.map(({ platformId }) => platformId) as [string, string];
    session.report({ kind: 'lateRefusal', refusal: { platformId: ada, code: 406, isFinal: true } });
    session.report({ kind: 'lateRefusal', refusal: { platformId: ben, code: 503, isFinal: false } });
    session.report({ kind: 'lateRefusal', refusal: { platformId: 'other', code: 406, isFinal: true } });
    await eventually(async () => (await stage.counts(list)).sent === 0, { everyMs: 1 });
    expect((await stage.statuses(list))[0]).to.equal('failed 406');
  });

  it('of names that are not known any more has recipients looked up again', async () => {
    const asked: string[] = [];
    stage.network.lookUp = (number) => {
      asked.push(number);
      return { exists: true };
    };
    scheduler.keepPace({ messagesPerMinute: 1, burst: 1, jitter: 0 });
    void sendTo(ADA, BEN);
    await stage.sentTo(1);
    const before = asked.filter((number) => number === BEN).length;
    await session.report({ kind: 'lookUpsForgotten' });
    await eventually(() => asked.filter((number) => number === BEN).length > before, { everyMs: 1 });
  });

  it('counts the messages that phones asked for again, by what became of that', async () => {
    await session.report({ kind: 'retryAnswered', outcome: 'answered' });
    await session.report({ kind: 'retryAnswered', outcome: 'refused' });
    const counted = [...(await readMetrics()).matchAll(/^gateway_retry_receipts_total\{outcome="(\w+)"\} (\d)$/gm)];
    expect(Object.fromEntries(counted.map(([, outcome, count]) => [outcome, count]))).to.deep.equal({
      ...{ answered: '1', refused: '1', not_ours: '0', not_read: '0' },
    });
  });

  it('ends the owner when it cannot be written down, and the network is not told that it arrived', async () => {
    const list = await sendTo(ADA);
    await giveDeviceBack(stage.space.store, stage.ownership);
    const { platformId } = stage.sent[0]!;
    const receipt = { platformIds: [platformId], kind: 'read' as const, atMs: 1 };
    let isRefused = false;
    await Promise.resolve(session.report({ kind: 'receipt', receipt })).catch(() => (isRefused = true));
    expect(isRefused).to.equal(true);
    expect(stage.failed[0]).to.be.instanceOf(FencedError);
    expect(await stage.statuses(list)).to.deep.equal(['sent']);
  });

  it('of a linking is nothing to a sender', async () => {
    session.report({ kind: 'code', code: { kind: 'qr', value: 'x', expiresAtMs: 1 } });
    session.report({ kind: 'linked', account: { jid: 'x', phone: ADA } });
    expect(toSocket).to.deep.equal([]);
  });
});
