import { type DeviceTask, openSessionUntil, type TaskEnd } from '@gateway/connection/device-task';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { SessionKeeper } from '@gateway/fleet/session-keeper';
import type { MessengerSession } from '@gateway/messenger/session/session-types';
import { systemClock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { GatewayError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import type { Store } from '@gateway/store/core/store';
import { ClientVersion } from '@gateway/store/fleet/client-version';
import { readInbound } from '@gateway/store/inbound/received-messages';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { makeNumbers } from '@gateway/testkit/phones';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { makeRoundTrips } from './support/round-trips.js';
import { startController, TestDevice } from './support/test-controller.js';

const ACCOUNT = '491700000032';
const TTL_MS = 60_000;
const [ADA, BEN] = makeNumbers(2, 32) as [string, string];
const logger = createLogger({ service: 'test', level: 'error' });

/** Each gate has tests of its own. Here a device that the connection service has must be found to go through them. */
describe('a device that the connection service has logged in', () => {
  let space: RedisSpace;
  let simulator: Simulator;
  let device: TestDevice;
  let keeper: SessionKeeper;
  let stop: AbortController;
  let task: DeviceTask;
  let session: MessengerSession;
  let closed: Promise<TaskEnd>;
  let aheadMs = 0;
  let between: (name: string, run: () => Promise<unknown>) => Promise<unknown>;
  let confirm: Store['confirmWrites'];
  const stanzas: string[] = [];

  before(async () => {
    const trace = (direction: string, _: string, { tag, attrs }: { tag: string; attrs: { id?: string } }) =>
      void stanzas.push(`${direction} ${tag} ${attrs.id}`);
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
    between = (_name, run) => run();
    const run: Store['run'] = (name, keys, args) => between(name, () => space.store.run(name, keys, args));
    confirm = space.store.confirmWrites;
    const store = { ...space.store, run, confirmWrites: (key: string) => confirm(key) };
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    // Its beat is not started: nothing but the gates themselves may notice that the ownership is over.
    keeper = new SessionKeeper({ store, clock, logger, owner: `task-${Date.now()}`, ttlMs: TTL_MS });
    const ownership = (await keeper.acquire(device.address))!;
    const { desired } = await device.read();
    stop = new AbortController();
    task = {
      ...{
        store,
        ownership,
        clock,
        logger,
        desired: desired!,
        signal: stop.signal,
      },
      endpoint: {
        url: simulator.socketUrl,
        trust: { kind: 'root' as const, publicKey: Buffer.from(simulator.rootPublicKeyHex, 'hex') },
      },
      clientVersion: new ClientVersion({ store, logger, clock }),
    };
    await logIn();
    stanzas.length = 0;
  });
  afterEach(async () => {
    stop.abort();
    await closed;
    aheadMs = 0;
    await keeper.stop();
    await space.clients.commands.del(device.keys.owner);
  });

  async function logIn(): Promise<void> {
    const open = defer<void>();
    ({ session, closed } = await openSessionUntil(stop.signal, task, { on: { open: () => open.resolve() } }));
    await open.promise;
    await session.caughtUp;
  }

  async function write(from: string, text: string): Promise<(stanza: string) => boolean> {
    const { office } = simulator;
    const { id } = await office.writer.write(from, ACCOUNT, { conversation: text });
    return (stanza) => stanza === `in receipt ${id}` || stanza === `in ack ${id}`;
  }

  it('has written down what a person wrote, and the wish in it, before the network hears that it arrived', async () => {
    const steps = ['add-opt-outs', 'record-received'];
    between = async (name, run) => {
      if (!steps.includes(name)) return run();
      // Time for a confirmation that does not wait for what it confirms.
      await makeRoundTrips(space, simulator, ACCOUNT);
      const reply = await run();
      stanzas.push(`written ${name}`);
      return reply;
    };
    const isConfirmed = await write(ADA, 'STOP');
    await eventually(() => stanzas.some(isConfirmed));
    const order = stanzas.filter((stanza) => stanza.startsWith('written ') || isConfirmed(stanza));
    expect(order.slice(0, 2), order.join()).to.deep.equal(steps.map((step) => `written ${step}`));
    expect(await findOptOut(space.store, 'main', ADA)).to.not.equal(undefined);
  });

  it('reads a wish also where it is what a message is changed to, sealed by the app of its writer', async () => {
    const { writer } = simulator.office;
    const { id } = await writer.compose(BEN, ACCOUNT, { text: 'stp' });
    const edit = await writer.compose(BEN, ACCOUNT, { text: 'STOP', edit: { id } });
    const wanted = { receivedId: edit.id, nowMs: Date.now() };
    const kept = await eventually(async () => (await readInbound(space.store, device.address, wanted)) ?? false);
    const content = { type: 'edited', to: { platformId: id } };
    expect(kept).to.deep.include({ text: 'STOP', content });
    expect(kept).not.to.have.property('sealedEdit');
    expect(await findOptOut(space.store, 'main', BEN)).to.not.equal(undefined);
  });

  it('has it written again until replicas have it, before the network hears that it arrived', async () => {
    const received = deviceKeys(space.store.space, device.address).received;
    let asked = 0;
    confirm = async () => {
      // A master that is cut off takes the message, and is not the master afterwards.
      if (++asked <= 2) await space.store.redis.del(received);
      // Time for a confirmation that does not wait for what it confirms.
      await makeRoundTrips(space, simulator, ACCOUNT);
      stanzas.push(`asked ${asked}`);
      if (asked <= 2) throw new GatewayError({ code: 'not_confirmed', message: 'a replica has left' });
    };
    const isConfirmed = await write(ADA, 'hello');
    await eventually(() => stanzas.some(isConfirmed));
    const order = stanzas.filter((stanza) => stanza.startsWith('asked ') || isConfirmed(stanza));
    expect(order.slice(0, 4).map((stanza, i) => (i < 3 ? stanza : isConfirmed(stanza)))).to.deep.equal([
      ...['asked 1', 'asked 2', 'asked 3'],
      true,
    ]);
    expect(await space.store.redis.hlen(received)).to.equal(1);
  });

  it('asks no more what the network has ended its connection over twice', async () => {
    const match = { account: ACCOUNT, xmlns: 'w:profile:picture' };
    const picture = simulator.network.faults.add({ on: 'iq', do: { streamError: 500 }, match });
    for (const hits of [1, 2]) {
      await session.fetchProfilePicture().catch(() => undefined);
      await closed;
      expect(picture.hits).to.equal(hits);
      await logIn();
    }
    expect(await session.fetchProfilePicture()).to.equal(undefined);
    expect(picture.hits).to.equal(2);
    simulator.network.faults.clear();
  });

  it('puts nothing on the wire once its ownership may be another one’s', async () => {
    // The process was frozen: its ownership is over, and nothing has told it so.
    aheadMs = TTL_MS;
    const isConfirmed = await write(BEN, 'hello');
    let end: TaskEnd | undefined;
    void closed.then((how) => {
      end = how;
    });
    await eventually(() => end !== undefined || stanzas.some(isConfirmed));
    expect(stanzas.filter(isConfirmed)).to.deep.equal([]);
    expect(end?.kind).to.equal('fenced');
  });
});
