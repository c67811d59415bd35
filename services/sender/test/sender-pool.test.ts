import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { defaultPace } from '@gateway/contracts/devices/pace';
import type { DeviceAddress } from '@gateway/contracts/ids';
import type { SendJob } from '@gateway/contracts/jobs';
import { memberKeys } from '@gateway/contracts/redis-keys';
import { SessionKeeper } from '@gateway/fleet/session-keeper';
import { sleep, systemClock } from '@gateway/runtime/clock';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { SenderPool } from '@gateway/sender/fleet/sender-pool';
import { MemoryBudget } from '@gateway/sender/scheduling/memory-budget';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import { DoorbellListener, ringDoorbell } from '@gateway/store/core/doorbells';
import { readDeviceState, reportObserved, requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice, setPace } from '@gateway/store/devices/devices';
import { deviceKeyStore } from '@gateway/store/devices/keys/device-keys';
import { ClientVersion } from '@gateway/store/fleet/client-version';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readSend } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { logInOnScript } from '@gateway/testkit/scripted-session';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import PQueue from 'p-queue';

const ACCOUNT = { jid: '491700000031@s.whatsapp.net', phone: '491700000031', name: 'Shop' };
/** Owners hear of changes by doorbells alone. */
const NEVER = { busy: 3_600_000, quiet: 3_600_000 };
const DEVICES = Array.from({ length: 12 }, (_, i) => `device-${i}`);

/** Some senders in this process, on one Redis, with sessions that need no network. */
describe('the devices of several senders', () => {
  let space: RedisSpace;
  let doorbells: DoorbellListener;
  let senders: { pool: SenderPool; stop(): Promise<void> }[];
  let logins: number;
  let connected: number;
  let passedMs: number;
  /** What each login takes. */
  let loginMs: number;
  const clock = { nowMs: systemClock.nowMs, monotonicMs: () => performance.now() + passedMs };

  beforeEach(async () => {
    space = await openRedisSpace();
    [senders, logins, connected, passedMs, loginMs] = [[], 0, 0, 0, 0];
    doorbells = await DoorbellListener.listen(space.clients.subscriber, space.store.space);
    await Promise.all(DEVICES.map((device) => link(device)));
  });
  afterEach(async () => {
    await Promise.all(senders.map(({ stop }) => stop()));
    doorbells.close();
    await space.close();
  });

  async function link(device: string, workspace = 'main'): Promise<void> {
    const { store } = space;
    const address = { workspace, device };
    await ensureDevice(store, address);
    await requestLink(store, address, { attemptId: 'one', method: 'qrCode', forceNew: false });
    const ownership = (await takeDevice(store, address, { owner: 'linking', ttlMs: 60_000 }))!;
    await deviceKeyStore(store, ownership).commit({ creds: JSON.stringify({ account: {}, me: { id: ACCOUNT.jid } }) });
    const { desired } = await readDeviceState(store, address);
    await reportObserved(store, ownership, desired!, { status: 'connecting', reason: 'restoring' }, 'linked');
    await giveDeviceBack(store, ownership);
  }

  function addSender(id: string) {
    const { store } = space;
    const keeper = new SessionKeeper({ store, clock, logger, owner: id, ttlMs: 3_600_000 });
    const logIn = logInOnScript({}, ACCOUNT);
    const pool = new SenderPool({
      ...{ store, keeper, clock, logger, doorbells },
      ...{ processId: id, maxDevices: 100, memberTtlMs: 60_000, tickMs: 100, lookMs: NEVER },
      metrics: createSenderMetrics(createMetrics(), () => ({})),
      endpoint: { url: 'ws://127.0.0.1:1', trust: { kind: 'insecure' } },
      openSession: async (options) => {
        await sleep(loginMs);
        [logins, connected] = [logins + 1, connected + 1];
        const onEvent: typeof options.onEvent = (event) => {
          if (event.kind === 'closed') connected -= 1;
          return options.onEvent(event);
        };
        return logIn({ ...options, onEvent });
      },
      clientVersion: new ClientVersion({ store, logger, clock }),
      ...{ defaultPace: defaultPace(0), ackTimeoutMs: 5_000 },
      ...{ uploads: new PQueue(), openings: new PQueue({ concurrency: 8 }), memory: new MemoryBudget() },
    });
    let stopped: Promise<void> | undefined;
    const stop = async () => {
      stopped ??= pool.stop().then(() => keeper.stop());
      await stopped;
    };
    const sender = { pool, stop };
    senders.push(sender);
    return sender;
  }
  const loads = () => senders.map(({ pool }) => pool.countStates().open);
  const become = (wanted: number[]) =>
    eventually(() => JSON.stringify(loads()) === JSON.stringify(wanted), { what: `${wanted}` }).catch((error) => {
      throw new Error(`${(error as Error).message}: ${loads()}`);
    });

  function accept(address: DeviceAddress, recipients: string[]) {
    const nowMs = Date.now();
    return acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
    });
  }

  /** The first has had a heartbeat since the second came. */
  async function haveMet(first: string, second: string): Promise<void> {
    const { redis } = space.store;
    const { members } = memberKeys(space.store.space);
    const beatOf = async (id: string) => Number((await redis.zscore(members, id)) ?? Number.NaN);
    const cameAt = await eventually(async () => (await beatOf(second)) || false);
    await eventually(async () => (await beatOf(first)) > cameAt);
  }

  it('are claimed by those that are there, equally many by each, with one login for each', async () => {
    addSender('a');
    addSender('b');
    addSender('c');
    await eventually(() => loads().reduce((sum, each) => sum + each) === DEVICES.length);
    expect(Math.max(...loads())).to.be.below(DEVICES.length);
    expect(logins).to.equal(DEVICES.length);
  });

  it('are claimed by a sender before it says that it is ready; it is not ready while the fleet misses it', async () => {
    const { pool } = addSender('a');
    const owned = () => Object.values(pool.countStates()).reduce((sum, count) => sum + count);
    loginMs = 100;
    expect(() => pool.assertReady()).to.throw('not in the fleet');
    const problems = new Set<string>();
    await eventually(
      () => {
        try {
          pool.assertReady();
          return true;
        } catch (thrown) {
          problems.add((thrown as Error).message);
          return false;
        }
      },
      { everyMs: 1 },
    );
    expect(owned()).to.equal(DEVICES.length);
    expect(problems).to.include('claims its devices');
    passedMs += 60_000;
    expect(() => pool.assertReady()).to.throw('not in the fleet');
    await eventually(() => pool.assertReady() ?? true);
  });

  it('are those of all workspaces, of the same name too: each has an owner of its own', async () => {
    await Promise.all(DEVICES.map((device) => link(device, 'other')));
    addSender('a');
    addSender('b');
    await eventually(() => loads().reduce((sum, each) => sum + each) === 24);
    expect(logins).to.equal(24);
    const owners = await Promise.all(
      ['main', 'other'].map((workspace) => readDeviceState(space.store, { workspace, device: DEVICES[0]! })),
    );
    expect(owners.map(({ isOwned }) => isOwned)).to.deep.equal([true, true]);
    await senders[0]!.stop();
    await become([0, 24]);
  });

  it('have one queue for all: a job goes to the owner of its device, and one for a device elsewhere is done', async () => {
    const { pool } = addSender('a');
    await become([12]);
    const address = { workspace: 'main', device: DEVICES[3]! };
    const { messageId, owner } = await accept(address, ['491511']);
    expect(owner).to.equal('a');
    const job: SendJob = { v: 1, ...address, messageId, priority: 'bulk', requestId: 'r' };
    await pool.takeJob({ ...job, device: 'elsewhere' });
    await pool.takeJob(job);
    await eventually(async () => (await readSend(space.store, address, messageId))?.counts.sent === 1);
  });

  it('take another pace in mid-list, as soon as a doorbell tells of it', async () => {
    const address = { workspace: 'main', device: DEVICES[3]! };
    const isSent = (messageId: string, count: number) =>
      eventually(async () => (await readSend(space.store, address, messageId))?.counts.sent === count);
    await setPace(space.store, address, { messagesPerMinute: 1, burst: 1, jitter: 0 });
    const { messageId } = await accept(address, ['491511', '491512', '491513']);
    addSender('a');
    await isSent(messageId, 1);
    await setPace(space.store, address, { messagesPerMinute: 0, burst: 1, jitter: 0 });
    await ringDoorbell(space.store, { topic: 'sends', ...address });
    await isSent(messageId, 3);
  });

  it('stay where they are when a sender comes; what is linked next goes to the new one', async () => {
    addSender('a');
    await become([12]);
    addSender('b');
    await haveMet('a', 'b');
    await link('another');
    await ringDoorbell(space.store, { topic: 'owner', workspace: 'main', device: 'another' });
    await become([12, 1]);
    expect(logins).to.equal(13);
  });

  it('take little memory while they are idle', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const usedBytes = () => {
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const more = Array.from({ length: 80 }, (_, i) => `idle-${i}`);
    // What the first devices need is there for all.
    addSender('a');
    await become([12]);
    await Promise.all(more.map((device) => link(device)));
    const before = usedBytes();
    for (const device of more) await ringDoorbell(space.store, { topic: 'owner', workspace: 'main', device });
    await become([92]);
    let kbPerDevice = Number.NaN;
    // What is on its way for a moment is not what they take while they are idle.
    await eventually(() => {
      kbPerDevice = (usedBytes() - before) / 80 / 1024;
      return kbPerDevice < 35;
    }).catch(() => {});
    expect(kbPerDevice, 'kB per device').to.be.below(35);
  });

  it('move for balance down to a tenth over the fair share, once the senders have been the same for a while', async () => {
    addSender('a');
    await become([12]);
    addSender('b');
    await haveMet('a', 'b');
    await become([12, 0]);
    await eventually(() => {
      passedMs += 15_000;
      return loads()[1]! > 0;
    });
    await become([7, 5]);
    expect(logins).to.equal(12 + 5);
  });

  it('go to the new sender one by one when theirs ends: one login each, and four without a connection at most, however long logins take', async () => {
    const old = addSender('a');
    await become([12]);
    addSender('b');
    await haveMet('a', 'b');
    loginMs = 300;
    let fewest = connected;
    const watch = setInterval(() => {
      fewest = Math.min(fewest, connected);
    }, 1);
    await old.stop();
    clearInterval(watch);
    await become([0, 12]);
    expect(logins).to.equal(24);
    expect(fewest).to.be.at.least(12 - 4 - 1);
  });
});
