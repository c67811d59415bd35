import { defaultPace } from '@gateway/contracts/devices/pace';
import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { type HeldDevice, SessionKeeper } from '@gateway/fleet/session-keeper';
import type { DisconnectOutcome } from '@gateway/messenger/codes/disconnect-outcomes';
import { defer } from '@gateway/runtime/deferred';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { DeviceOwner } from '@gateway/sender/device/device-owner';
import { MemoryBudget } from '@gateway/sender/scheduling/memory-budget';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { readDeviceState, reportObserved, requestLink, requestUnlink } from '@gateway/store/devices/device-state';
import { ensureDevice, setPace } from '@gateway/store/devices/devices';
import { deviceKeyStore, retireKeys } from '@gateway/store/devices/keys/device-keys';
import { ClientVersion, setClientVersion } from '@gateway/store/fleet/client-version';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readSend } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import {
  type Answer,
  logInOnScript,
  type ScriptedSession,
  type SessionScript,
} from '@gateway/testkit/scripted-session';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import PQueue from 'p-queue';

const ADDRESS = { workspace: 'main', device: 'a' };
const ACCOUNT = { jid: '491700000031@s.whatsapp.net', phone: '491700000031', name: 'Shop' };

/** Its life, whatever the network: what goes over a real socket is tested with the wiring. */
describe('the owner of a device, on a script', () => {
  let space: RedisSpace;
  let keeper: SessionKeeper;
  let ownership: HeldDevice;
  let owner: DeviceOwner;
  let start: () => void;
  let networkAnswers: Promise<void>;
  let registry: ReturnType<typeof createMetrics>;
  let sessions: ScriptedSession[];
  let script: SessionScript;
  let startMs: number;
  let passedMs: number;
  /** At the device's state. */
  let looks = 0;
  let isBroken: boolean;
  let lookMs: { busy: number; quiet: number };
  /** Stands still until time passes in the test. */
  const nowMs = () => startMs + passedMs;

  beforeEach(async () => {
    space = await openRedisSpace();
    [sessions, script, passedMs, isBroken] = [[], {}, 0, false];
    startMs = Date.now();
    lookMs = { busy: 20, quiet: 3_600_000 };
    networkAnswers = Promise.resolve();
    const clock = { nowMs, monotonicMs: () => passedMs };
    const run: RunScript = (name, keys, args) => {
      if (name === 'read-device-state') looks++;
      if (name === 'read-device-state' && isBroken) throw new Error('it cannot be read');
      return space.store.run(name, keys, args);
    };
    const store = { ...space.store, run };
    keeper = new SessionKeeper({ store, clock, logger, owner: 'test', ttlMs: 3_600_000 });
    await ensureDevice(store, ADDRESS);
    ownership = (await keeper.acquire(ADDRESS))!;
    await requestLink(store, ADDRESS, { attemptId: 'one', method: 'qrCode', forceNew: false });
    await deviceKeyStore(store, ownership).commit({ creds: JSON.stringify({ account: {}, me: { id: ACCOUNT.jid } }) });
    const { desired } = await readDeviceState(store, ADDRESS);
    await reportObserved(store, ownership, desired!, { status: 'connecting', reason: 'restoring' }, 'linked');
    start = () => {
      registry = createMetrics();
      owner = new DeviceOwner(
        {
          ...{ store, keeper, clock, logger },
          metrics: createSenderMetrics(registry, () => ({})),
          endpoint: { url: 'ws://127.0.0.1:1', trust: { kind: 'insecure' } },
          openSession: async (options) => {
            await networkAnswers;
            const session = await logInOnScript(script, ACCOUNT)(options);
            sessions.push(session);
            return session;
          },
          clientVersion: new ClientVersion({ store, logger, clock }),
          lookMs,
          ...{ defaultPace: defaultPace(0), ackTimeoutMs: 5_000, uploads: new PQueue(), openings: new PQueue() },
          memory: new MemoryBudget(),
        },
        ownership,
      );
    };
    start();
  });
  afterEach(async () => {
    await owner.handOver();
    keeper.stop();
    await space.close();
  });

  const observed = async () => (await readDeviceState(space.store, ADDRESS)).observed;
  const isObserved = (fields: object) =>
    eventually(
      async () => {
        const seen = await observed();
        return Object.entries(fields).every((field) => hasField(seen, field));
      },
      { everyMs: 5 },
    );
  const isOpen = (logins = 1) => eventually(() => owner.state === 'open' && sessions.length === logins, { everyMs: 5 });
  async function send(...to: string[]): Promise<string> {
    const { messageId } = await acceptSend(space.store, ADDRESS, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: to },
      ...{ owner: 't', requestId: 'r', nowMs: nowMs(), expiresAtMs: nowMs() + 3_600_000 },
    });
    await owner.takeJob({ v: 1, ...ADDRESS, messageId, priority: 'bulk', requestId: 'r' });
    return messageId;
  }
  /** There would be five looks in that time. */
  const isStill = async () => {
    let before = -1;
    await eventually(
      () => {
        const isSame = looks === before;
        before = looks;
        return isSame;
      },
      { everyMs: 100 },
    );
  };
  const isSent = (messageId: string, count: number) =>
    eventually(async () => (await readSend(space.store, ADDRESS, messageId))?.counts.sent === count, { everyMs: 5 });

  it('opens a session, says who is connected, and sends what is accepted', async () => {
    await isOpen();
    expect(await observed()).to.include({ status: 'connected', phone: ACCOUNT.phone, name: 'Shop' });
    await isSent(await send('4915170001', '4915170002'), 2);
    await sessions[0]!.report({ kind: 'renamed', name: 'Shop and more' });
    await isObserved({ name: 'Shop and more' });
  });

  it('looks at its device again and again while sends are under way, and then no more until a doorbell rings', async () => {
    await isOpen();
    const ack = defer<Answer>();
    script.answer = () => ack.promise;
    const list = await send('4915170001');
    owner.look();
    const before = looks;
    await eventually(() => looks > before + 5, { everyMs: 5 });
    ack.resolve({ kind: 'accepted', atMs: 0 });
    await isSent(list, 1);
    await isStill();
    const still = looks;
    owner.look();
    await eventually(() => looks > still, { everyMs: 5 });
    await isStill();
  });

  it('takes another pace within a few seconds when the doorbell was lost that tells of it in mid-list', async () => {
    await isOpen();
    await setPace(space.store, ADDRESS, { messagesPerMinute: 1, burst: 1, jitter: 0 });
    owner.look();
    const list = await send('4915170001', '4915170002');
    await isSent(list, 1);
    await setPace(space.store, ADDRESS, undefined);
    await isSent(list, 2);
  });

  it('asks Redis one thing at each look while nothing is under way', async () => {
    await isOpen();
    await isStill();
    lookMs.quiet = 10;
    owner.look();
    const nextLooks = async (count: number) => {
      const from = looks;
      await eventually(() => looks >= from + count, { everyMs: 5 });
      return looks - from;
    };
    await nextLooks(3);
    let commands = 0;
    const { redis } = space.store;
    const sendCommand = redis.sendCommand.bind(redis);
    redis.sendCommand = (...command) => {
      commands += 1;
      return sendCommand(...command);
    };
    expect(await nextLooks(10)).to.be.at.least(commands - 2);
    await isSent(await send('4915170001'), 1);
  });

  it('opens the next session after the pause that the network’s reason calls for, and goes on there', async () => {
    await isOpen();
    let written = 0;
    script.answer = () => (written++ === 0 ? 'silence' : { kind: 'accepted', atMs: 0 });
    const list = await send('4915170001');
    await eventually(() => written === 1, { everyMs: 5 });
    sessions[0]!.lose({ kind: 'reconnect', code: 428, backoff: 'network' });
    await isObserved({ status: 'connecting' });
    const { notBeforeMs } = (await observed())!;
    expect(notBeforeMs).to.be.above(nowMs());
    expect(sessions, 'not before').to.have.length(1);
    passedMs += notBeforeMs! - nowMs();
    owner.look();
    await isOpen(2);
    await isSent(list, 1);
    const told = await registry.metrics();
    for (const outcome of ['begun', 'logged_in'])
      expect(told).to.include(`gateway_logins_total{outcome="${outcome}"} 2`);
    expect(told).to.include('gateway_disconnects_total{outcome="reconnect"} 1');
  });

  it('gives a session up that leaves a message without an ack, and sends it again on the next', async () => {
    await isOpen();
    const ids = new Set<string>();
    script.answer = ({ platformId }) => {
      ids.add(platformId);
      return sessions.length === 1 ? 'silence' : { kind: 'accepted', atMs: 0 };
    };
    const list = await send('4915170001');
    await eventually(() => ids.size === 1, { everyMs: 5 });
    sessions[0]!.lapse();
    await isObserved({ status: 'connecting' });
    passedMs += 120_000;
    owner.look();
    await isOpen(2);
    await isSent(list, 1);
    expect(ids.size).to.equal(1);
  });

  for (const outcome of [
    { kind: 'loggedOut', code: 401 },
    { kind: 'banned', code: 403 },
  ] as DisconnectOutcome[]) {
    it(`gives the device up for good when the network says that it is ${outcome.kind}`, async () => {
      await isOpen();
      sessions[0]!.lose(outcome);
      await owner.ended;
      expect(await observed()).to.include({ status: 'disconnected' });
      const { desired, hasKeys } = await readDeviceState(space.store, ADDRESS);
      expect([desired?.want, hasKeys]).to.deep.equal(['unlinked', false]);
      expect(sessions).to.have.length(1);
    });
  }

  it('opens the next session at once when the network asks for that', async () => {
    await isOpen();
    sessions[0]!.lose({ kind: 'restart', code: 515 });
    await isOpen(2);
    expect(await observed()).to.include({ status: 'connected' });
  });

  it('logs in no more while the network refuses the version, and does with another one', async () => {
    await isOpen();
    sessions[0]!.lose({ kind: 'clientOutdated', code: 405 });
    await isObserved({ status: 'connecting', reason: 'client_outdated' });
    passedMs += 60_000;
    owner.look();
    await eventually(() => owner.state === 'waiting', { everyMs: 5 });
    expect(sessions).to.have.length(1);
    await setClientVersion(space.store, '2.3000.999999');
    owner.look();
    await isOpen(2);
  });

  it('waits while the owners before it failed in a row, and says so', async () => {
    await isOpen();
    await owner.handOver();
    ownership = (await keeper.acquire(ADDRESS))!;
    const ended = Array.from({ length: 20 }, (_, i) => `ended:${i}`);
    await space.store.redis.sadd(deviceKeys(space.store.space, ADDRESS).starts, ...ended);
    start();
    await isObserved({ status: 'connecting', reason: 'owner_failing' });
    const { notBeforeMs } = (await observed())!;
    expect([owner.state, sessions.length]).to.deep.equal(['backingOff', 1]);
    passedMs += notBeforeMs! - nowMs();
    owner.look();
    await isOpen(2);
  });

  it('tells the words of the network while it is not connected', async () => {
    await isOpen();
    sessions[0]!.lose({ kind: 'reconnect', code: 503, backoff: 'server' }, { serverWords: 'come back later' });
    await isObserved({ status: 'connecting', networkReason: 'come back later' });
  });

  it('takes in all sends that are open when it begins, but for one that cannot be read', async () => {
    await isOpen();
    await owner.handOver();
    const [broken, whole] = [await send('4915170001'), await send('4915170002')];
    const { record } = sendKeys(space.store.space, ADDRESS, parseMessageId(broken)!.tag);
    await space.store.redis.setrange(record, 0, Buffer.of(255));
    ownership = (await keeper.acquire(ADDRESS))!;
    start();
    await isSent(whole, 1);
    expect([owner.state, owner.failed]).to.deep.equal(['open', false]);
  });

  it('releases a device that it cannot read, and says that it has failed', async () => {
    await isOpen();
    isBroken = true;
    owner.look();
    await owner.ended;
    expect(owner.failed).to.equal(true);
    expect(await keeper.acquire(ADDRESS), 'free for the next').to.not.equal(undefined);
  });

  it('is unlinked when its keys are gone', async () => {
    await isOpen();
    await retireKeys(space.store, ownership, { quarantine: false });
    owner.look();
    await owner.ended;
    expect(await observed()).to.include({ status: 'disconnected', reason: 'logged_out' });
    expect((await readDeviceState(space.store, ADDRESS)).desired?.want).to.equal('unlinked');
  });

  it('ends when it cannot write, and its ownership is free', async () => {
    await isOpen();
    await space.store.redis.set(deviceKeys(space.store.space, ADDRESS).owner, 'other:9');
    void send('4915170001').catch(() => {});
    await owner.ended;
    expect(owner.failed, 'to lose an ownership is no failure of the device').to.equal(false);
    expect(await space.store.redis.get(deviceKeys(space.store.space, ADDRESS).owner), 'that of the other').to.equal(
      'other:9',
    );
  });

  it('parks the device when another client takes its connection again and again', async () => {
    for (let logins = 1; logins <= 3; logins++) {
      await isOpen(logins);
      sessions.at(-1)!.lose({ kind: 'replaced', code: 440 });
      if (logins < 3) await isObserved({ status: 'connecting', reason: 'replaced' });
      passedMs += 100_000;
      owner.look();
    }
    await owner.ended;
    expect(await observed()).to.include({ status: 'disconnected', reason: 'replaced' });
    const { desired, hasKeys } = await readDeviceState(space.store, ADDRESS);
    expect([desired?.want, hasKeys], 'the keys stay').to.deep.equal(['parked', true]);
  });

  it('does not say connected in the name of the owner before, while it logs in itself', async () => {
    await isOpen();
    await owner.handOver();
    expect(await observed()).to.include({ status: 'connected' });
    ownership = (await keeper.acquire(ADDRESS))!;
    const network = defer<void>();
    networkAnswers = network.promise;
    start();
    await isObserved({ status: 'connecting', reason: 'restoring' });
    network.resolve();
    await isObserved({ status: 'connected' });
  });

  it('keeps the pause that the network asked for in sight, whatever it waits for itself', async () => {
    await isOpen();
    await owner.handOver();
    ownership = (await keeper.acquire(ADDRESS))!;
    const { desired } = await readDeviceState(space.store, ADDRESS);
    const asked = { status: 'connecting', reason: 'temporarily_banned', notBeforeMs: nowMs() + 3_600_000 } as const;
    await reportObserved(space.store, ownership, desired!, asked);
    // Its owners failed one after the other, too.
    const ended = Array.from({ length: 20 }, (_, i) => `ended:${i}`);
    await space.store.redis.sadd(deviceKeys(space.store.space, ADDRESS).starts, ...ended);
    start();
    await eventually(() => owner.state === 'backingOff', { everyMs: 5 });
    await owner.handOver();
    expect(await observed()).to.include(asked);
    expect(sessions).to.have.length(1);
  });

  it('logs the device out when the user wants that, and forgets its keys', async () => {
    await isOpen();
    await requestUnlink(space.store, ADDRESS, { attemptId: 'two' });
    owner.look();
    await owner.ended;
    expect(await observed()).to.include({ status: 'disconnected', reason: 'disconnected', logout: 'confirmed' });
    expect((await readDeviceState(space.store, ADDRESS)).hasKeys).to.equal(false);
  });

  it('hands over with its jobs given back, and does nothing from then on', async () => {
    await isOpen();
    let isWritten = false;
    script.answer = () => {
      isWritten = true;
      return 'silence';
    };
    await send('4915170001');
    await eventually(() => isWritten, { everyMs: 5 });
    const handedOver = owner.handOver();
    sessions[0]!.lapse();
    await handedOver;
    expect([owner.state, owner.failed]).to.deep.equal(['ended', false]);
    expect(await keeper.acquire(ADDRESS), 'free for the next').to.not.equal(undefined);
  });
});

function hasField(observed: object | undefined, [name, value]: [string, unknown]): boolean {
  return (observed as Record<string, unknown> | undefined)?.[name] === value;
}
