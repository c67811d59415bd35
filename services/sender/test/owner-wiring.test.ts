import { defaultPace } from '@gateway/contracts/devices/pace';
import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { type HeldDevice, SessionKeeper } from '@gateway/fleet/session-keeper';
import { openSession } from '@gateway/messenger/session/open-session';
import { systemClock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { contain, containerOf } from '@gateway/runtime/process/contain';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { DeviceOwner } from '@gateway/sender/device/device-owner';
import { MemoryBudget } from '@gateway/sender/scheduling/memory-budget';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import type { Store } from '@gateway/store/core/store';
import { BUCKETS, bucketOf, deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import { ClientVersion } from '@gateway/store/fleet/client-version';
import { readStarts } from '@gateway/store/fleet/starts/count-starts';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { claimRecipient } from '@gateway/store/sends/change-send';
import { readSend } from '@gateway/store/sends/read-send';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers, readDeliveries } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import PQueue from 'p-queue';
import { makeRoundTrips } from '../../connection/test/support/round-trips.js';
import { startController, TestDevice } from '../../connection/test/support/test-controller.js';

const ACCOUNT = '491700000031';
const TTL_MS = 120_000;
const LASTED_MS = 50;
const [ADA, BEN, CLEO, DORA] = makeNumbers(4, 31) as [string, string, string, string];

/** Each gate has tests of its own. Here an owner of a real device must be found to go through them. */
describe('the owner of a device', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let device: TestDevice;
  let keeper: SessionKeeper;
  let ownership: HeldDevice;
  let owner: DeviceOwner;
  /** The next owner, which counts as lasting after so long. */
  let start: (lastedMs?: number) => Promise<void>;
  /** Of all devices of the process. */
  let openings: PQueue;
  /** What gets the uncaught errors of the socket. */
  let ofSocket: ReturnType<typeof containerOf>;
  /** How far the clock of the process is ahead. */
  let aheadMs = 0;
  /** Stands between the owner and each step in Redis. */
  let between: (step: { name: string; args: readonly unknown[] }, run: () => Promise<unknown>) => Promise<unknown>;
  const stanzas: string[] = [];

  before(async () => {
    const trace = (
      direction: string,
      _client: string,
      { tag, attrs }: { tag: string; attrs: Record<string, string> },
    ) => void stanzas.push(`${direction} ${attrs.class ?? ''} ${tag} ${attrs.id} ${attrs.to}`);
    [space, simulator] = await Promise.all([openRedisSpace(), startSimulator({ trace: trace as never })]);
    const controller = await startController(space, simulator);
    device = new TestDevice(space, simulator, 'default', ACCOUNT);
    await device.link();
    await controller.stop();
  });
  after(async () => {
    await simulator.close();
    await space.close();
  });

  beforeEach(async () => {
    aheadMs = 0;
    between = (_step, run) => run();
    const run: Store['run'] = (name, keys, args) => between({ name, args }, () => space.store.run(name, keys, args));
    const store = { ...space.store, run };
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    // Its beat is not started: nothing but the gates themselves may notice that the ownership is over.
    openings = new PQueue({ concurrency: 1 });
    keeper = new SessionKeeper({ store, clock, logger, owner: `owner-${Date.now()}`, ttlMs: TTL_MS });
    start = async (lastedMs = LASTED_MS) => {
      ownership = (await keeper.acquire(device.address))!;
      owner = new DeviceOwner(
        {
          ...{ store, keeper, clock, logger },
          metrics: createSenderMetrics(createMetrics(), () => ({})),
          endpoint: {
            url: simulator.socketUrl,
            trust: { kind: 'root', publicKey: Buffer.from(simulator.rootPublicKeyHex, 'hex') },
          },
          openSession: (options) => {
            ofSocket = containerOf();
            return openSession(options);
          },
          clientVersion: new ClientVersion({ store, logger, clock }),
          ...{ defaultPace: defaultPace(0), ackTimeoutMs: 5_000 },
          ...{ uploads: new PQueue(), openings, memory: new MemoryBudget() },
          lastedMs,
        },
        ownership,
      );
      await eventually(() => owner.state === 'open');
    };
    await start();
  });
  afterEach(async () => {
    await owner.handOver();
    await keeper.stop();
  });

  async function accept(to: string, kind: 'text' | 'otp' = 'text', others: string[] = []): Promise<string> {
    const nowMs = Date.now();
    const { messageId } = await acceptSend(space.store, device.address, {
      ...{ kind, content: { kind: 'text', text: `for ${to}` }, parts: 1, recipients: [to, ...others] },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
    });
    return messageId;
  }
  const addJob = (messageId: string) =>
    owner.takeJob({ v: 1, workspace: 'main', device: 'default', messageId, priority: 'bulk', requestId: 'r' });
  const isRead = (messageId: string, recipients = 1) =>
    eventually(async () => (await readSend(space.store, device.address, messageId))?.counts.read === recipients);

  /** The messages to these people, and the acks of them, in the order in which they were on the wire. */
  function stepsOf(people: Record<string, string[]>): string[] {
    const names = new Map(
      Object.entries(people).flatMap(([name, numbers]) =>
        numbers.map((number) => [simulator.network.directory.jidOf(number, 'lid'), name] as const),
      ),
    );
    const ids = new Map<string, string>();
    return stanzas.flatMap((stanza) => {
      const [, stanzaClass, tag, id, to] = stanza.split(' ') as [string, string, string, string, string];
      if (tag === 'message' && names.has(to)) ids.set(id, names.get(to)!);
      const isStep = ids.has(id) && (tag === 'message' || (tag === 'ack' && stanzaClass === 'message'));
      return isStep ? [`${tag} ${ids.get(id)}`] : [];
    });
  }

  it('opens a send that was accepted, whose job it finds first', async () => {
    const messageId = await accept(ADA);
    await addJob(messageId);
    await isRead(messageId);
  });

  it('writes a receipt down before the network hears that it arrived', async () => {
    between = async ({ name, args }, run) => {
      if (name !== 'record-results' || !(args.includes('delivered') || args.includes('read'))) return run();
      // Time for a confirmation that does not wait for what it confirms.
      await makeRoundTrips(space, simulator, ACCOUNT);
      stanzas.push('written');
      return run();
    };
    stanzas.length = 0;
    const messageId = await accept(BEN);
    await addJob(messageId);
    await isRead(messageId);
    const { id } = (await readDeliveries(simulator, ACCOUNT)).find(({ to }) => to === BEN)!;
    // The phone of the account itself says that it has the message, too; that is not written down.
    const isConfirmed = (stanza: string) =>
      stanza.includes(` receipt ack ${id} `) && stanza.endsWith(` ${simulator.network.directory.jidOf(BEN, 'lid')}`);
    await eventually(() => stanzas.filter(isConfirmed).length === 2);
    const order = stanzas.filter((stanza) => stanza === 'written' || isConfirmed(stanza));
    expect(order[0], order.join()).to.equal('written');
  });

  it('writes a message down, and the wish in it, before the network hears that it arrived', async () => {
    const steps = ['add-opt-outs', 'record-received'];
    between = async ({ name }, run) => {
      if (!steps.includes(name)) return run();
      // Time for a confirmation that does not wait for what it confirms.
      await makeRoundTrips(space, simulator, ACCOUNT);
      const reply = await run();
      stanzas.push(`written ${name}`);
      return reply;
    };
    stanzas.length = 0;
    const { office } = simulator;
    const { id } = await office.writer.write(DORA, ACCOUNT, { conversation: 'STOP' });
    const isConfirmed = (stanza: string) => stanza.startsWith('in ') && stanza.includes(` receipt ${id} `);
    await eventually(() => stanzas.some(isConfirmed));
    const order = stanzas.filter((stanza) => stanza.startsWith('written ') || isConfirmed(stanza));
    expect(order.slice(0, 2), order.join()).to.deep.equal(steps.map((step) => `written ${step}`));
    expect(await findOptOut(space.store, 'main', DORA)).to.not.equal(undefined);
  });

  it('lets a message go out with nothing else under way that was in flight when several owners ended', async () => {
    const [before, suspect, ...others] = makeNumbers(5, 32) as [string, string, ...string[]];
    const rules = [before, suspect].map((recipient) =>
      simulator.network.faults.add({ on: 'message', match: { recipient }, do: { delayMs: 200 } }),
    );
    const messageId = await accept(suspect, 'text', others);
    const { tag } = parseMessageId(messageId)!;
    const longAgo = { recipient: 0, part: 0, nowMs: Date.now() - 600_000 };
    for (let each = 0; each < 3; each++) await claimRecipient(space.store, ownership, { tag, ...longAgo });
    stanzas.length = 0;
    await addJob(await accept(before));
    await eventually(() => rules[0]!.hits === 1);
    await addJob(messageId);
    await isRead(messageId, others.length + 1);
    simulator.network.faults.clear();
    const steps = stepsOf({ before: [before], suspect: [suspect], other: others });
    expect(steps.slice(0, 5)).to.deep.equal([
      'message before',
      'ack before',
      'message suspect',
      'ack suspect',
      'message other',
    ]);
  });

  it('has one message of a list in flight at a time until it has lasted, when the owners before it failed', async () => {
    await owner.handOver();
    const { starts } = deviceKeys(space.store.space, device.address);
    await space.store.redis.sadd(starts, 'failed:1', 'failed:2');
    const [first, ...others] = makeNumbers(4, 33) as [string, ...string[]];
    const messageId = await accept(first, 'text', others);
    // All could be out before the first is answered.
    simulator.network.faults.add({ on: 'message', do: { delayMs: 100 }, count: 4 });
    stanzas.length = 0;
    await start(60_000);
    await isRead(messageId, 4);
    expect(stepsOf({ one: [first, ...others] })).to.deep.equal(Array(4).fill(['message one', 'ack one']).flat());
  });

  it('ends the suspicion against a device when it has held for a while', async () => {
    await eventually(async () => (await readStarts(space.store, device.address)) === 0, { timeoutMs: 5_000 });
    expect(owner.state).to.equal('open');
  });

  it('ends for an uncaught error of its socket, also where another owner opened one just before', async () => {
    await owner.handOver();
    const turn = defer<void>();
    const ofOthers: Error[] = [];
    const other = contain(
      (error) => void ofOthers.push(error),
      () => openings.add(() => turn.promise),
    );
    const started = start();
    await eventually(() => openings.size === 1);
    turn.resolve();
    await Promise.all([other, started]);
    ofSocket!(new Error('thrown in a callback'));
    await eventually(() => owner.state === 'ended');
    expect(ofOthers).to.deep.equal([]);
  });

  it('ends as soon as its ownership is lost, with nothing to write that would be refused', async () => {
    await keeper.stop();
    await eventually(() => owner.state === 'ended', { timeoutMs: 3_000 });
  });

  it('puts nothing on the wire once its ownership may be another one’s', async () => {
    const { counters } = simulator.network;
    const before = counters.acceptedStanzas;
    between = async ({ name }, run) => {
      const reply = await run();
      // The process was frozen right after the claim: its ownership is over, and nothing has told it so.
      if (name === 'claim-recipient') aheadMs = TTL_MS;
      return reply;
    };
    await addJob(await accept(CLEO));
    await eventually(() => owner.state === 'ended');
    expect(counters.acceptedStanzas).to.equal(before);
  });

  it('forgets sessions that were not used for a month', async () => {
    const { vault } = space.store;
    const seal: typeof vault.seal = (...what) => {
      const sealed = vault.seal(...what);
      const day = 2 + sealed[1]!;
      sealed.writeUInt16BE(sealed.readUInt16BE(day) - 40, day);
      return sealed;
    };
    // One in each bucket, as each look is at one of them; people who do not exist.
    const ids = new Map<number, string>();
    for (let i = 1; ids.size < BUCKETS; i++) ids.set(bucketOf(`${i}_1.0`), `${i}_1.0`);
    const keys = [...ids.values()].map((id) => ({ type: 'session', id, value: Buffer.of(1) }));
    await deviceKeyStore({ ...space.store, vault: { ...vault, seal } }, ownership).commit({ keys });
    // The ownership lasts twice as long as it takes until the first look.
    aheadMs = TTL_MS / 2;
    owner.look();
    const { keyBucket } = deviceKeys(space.store.space, device.address);
    const isThere = ([bucket, id]: [number, string]) =>
      space.clients.commands.hexists(keyBucket('session', bucket), id);
    const left = async () => (await Promise.all([...ids].map(isThere))).reduce((sum, each) => sum + each, 0);
    expect(await left()).to.equal(BUCKETS);
    // The ownership lasts twice as long as it takes until the first look.
    aheadMs = TTL_MS / 2;
    owner.look();
    await eventually(async () => (await left()) < BUCKETS);
  });
});
