import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type DeviceAddress, parseMessageId } from '@gateway/contracts/ids';
import type { SendJob } from '@gateway/contracts/jobs';
import { deviceKeys, memberKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { Standing } from '@gateway/store/core/confirming/standing';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import type { Store } from '@gateway/store/core/store';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { setPace } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readSend } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';
import { PoolStage } from './support/pool-stage.js';

const DEVICES = Array.from({ length: 12 }, (_, i) => `device-${i}`);

describe('the devices of several senders', () => {
  let stage: PoolStage;

  beforeEach(async () => {
    stage = await PoolStage.open();
    await Promise.all(DEVICES.map((device) => stage.link(device)));
  });
  afterEach(() => stage.close());

  function accept(address: DeviceAddress, recipients: string[]) {
    const nowMs = Date.now();
    return acceptSend(stage.space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
    });
  }

  /** How often the scores of this key were read. */
  function countReads({ redis }: Store, key: string): { reads: number } {
    const seen = { reads: 0 };
    const { zrangebyscore } = redis;
    const read = async (...args: unknown[]) => {
      const found = await Reflect.apply(zrangebyscore, redis, args);
      if (args[0] === key) seen.reads += 1;
      return found;
    };
    Object.assign(redis, { zrangebyscore: read });
    return seen;
  }

  /** The first has had a heartbeat since the second came. */
  async function haveMet(first: string, second: string): Promise<void> {
    const { redis } = stage.space.store;
    const { members } = memberKeys(stage.space.store.space);
    const beatOf = async (id: string) => Number((await redis.zscore(members, id)) ?? Number.NaN);
    const cameAt = await eventually(async () => (await beatOf(second)) || false);
    await eventually(async () => (await beatOf(first)) > cameAt);
  }

  it('are claimed once the master of Redis is known to stand, and until then no line tells of each that is tried', async () => {
    let [stands, questions] = [false, 0];
    const lines: string[] = [];
    const logger = { ...silentLogger, warn: (line: string) => void lines.push(line) };
    const masterStands = async () => {
      questions++;
      return stands;
    };
    const standing = new Standing({ masterStands, clock: systemClock, logger, freshMs: 1, meanwhile: 'none is held' });
    const { pool } = stage.addSender('a', { standing, logger });
    await eventually(() => questions > 3);
    expect(() => pool.assertReady()).to.throw();
    expect(lines).to.have.length(1);
    stands = true;
    await stage.become([DEVICES.length]);
    expect(lines).to.have.length(1);
  });

  it('are claimed by those that are there, equally many by each, with one login for each', async () => {
    stage.addSender('a');
    stage.addSender('b');
    stage.addSender('c');
    await eventually(() => stage.loads().reduce((sum, each) => sum + each) === DEVICES.length);
    expect(Math.max(...stage.loads())).to.be.below(DEVICES.length);
    expect(stage.logins).to.equal(DEVICES.length);
  });

  it('are claimed by a sender before it says that it is ready; it is not ready while the fleet misses it', async () => {
    const { pool } = stage.addSender('a');
    const owned = () => Object.values(pool.countStates()).reduce((sum, count) => sum + count);
    stage.loginMs = 100;
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
    stage.passedMs += 60_000;
    expect(() => pool.assertReady()).to.throw('not in the fleet');
    await eventually(() => pool.assertReady() ?? true);
  });

  it('are those of all workspaces, of the same name too: each has an owner of its own', async () => {
    await Promise.all(DEVICES.map((device) => stage.link(device, 'other')));
    stage.addSender('a');
    stage.addSender('b');
    await eventually(() => stage.loads().reduce((sum, each) => sum + each) === 24);
    expect(stage.logins).to.equal(24);
    const owners = await Promise.all(
      ['main', 'other'].map((workspace) => readDeviceState(stage.space.store, { workspace, device: DEVICES[0]! })),
    );
    expect(owners.map(({ isOwned }) => isOwned)).to.deep.equal([true, true]);
    await stage.senders[0]!.stop();
    await stage.become([0, 24]);
  });

  it('have one queue for all: a job goes to the owner of its device, and one for a device elsewhere is done', async () => {
    const { pool } = stage.addSender('a');
    await stage.become([12]);
    const address = { workspace: 'main', device: DEVICES[3]! };
    const { messageId, owner } = await accept(address, ['491511']);
    expect(owner).to.equal('a');
    const job: SendJob = { v: 1, ...address, messageId, priority: 'bulk', requestId: 'r' };
    await pool.takeJob({ ...job, device: 'elsewhere' });
    await pool.takeJob(job);
    await eventually(async () => (await readSend(stage.space.store, address, messageId))?.counts.sent === 1);
  });

  it('take another pace in mid-list, as soon as a doorbell tells of it', async () => {
    const address = { workspace: 'main', device: DEVICES[3]! };
    const isSent = (messageId: string, count: number) =>
      eventually(async () => (await readSend(stage.space.store, address, messageId))?.counts.sent === count);
    await setPace(stage.space.store, address, { messagesPerMinute: 1, burst: 1, jitter: 0 });
    const { messageId } = await accept(address, ['491511', '491512', '491513']);
    stage.addSender('a');
    await isSent(messageId, 1);
    await setPace(stage.space.store, address, { messagesPerMinute: 0, burst: 1, jitter: 0 });
    await ringDoorbell(stage.space.store, { topic: 'sends', ...address });
    await isSent(messageId, 3);
  });

  it('hear of what was accepted while doorbells could not be heard, once they can be again', async () => {
    stage.addSender('a');
    await stage.become([12]);
    const address = { workspace: 'main', device: DEVICES[3]! };
    const { messageId } = await accept(address, ['491511']);
    stage.space.clients.subscriber.disconnect(true);
    await eventually(async () => (await readSend(stage.space.store, address, messageId))?.counts.sent === 1);
  });

  it('send the rest of a send, and once more that of which Redis forgot what became of it, as after a failover', async () => {
    const { redis, space } = stage.space.store;
    const address = { workspace: 'main', device: DEVICES[3]! };
    const sent: { to: string; platformId: string }[] = [];
    const answered = defer<void>();
    let before: Buffer | null = null;
    let record = '';
    stage.script.answer = async ({ to, platformId }) => {
      sent.push({ to, platformId });
      if (to === '491511') before ??= await redis.dumpBuffer(record);
      else await answered.promise;
      return { kind: 'accepted', atMs: Date.now() };
    };
    const { messageId } = await accept(address, ['491511', '491512']);
    ({ record } = sendKeys(space, address, parseMessageId(messageId)!.tag));
    const sentCount = async () => (await readSend(stage.space.store, address, messageId))!.counts.sent;
    stage.addSender('a');
    await eventually(async () => (await sentCount()) === 1 && sent.length === 2);
    await redis.restore(record, 0, before!, 'REPLACE');
    expect(await sentCount()).to.equal(0);
    const seen = countReads(stage.space.store, deviceKeys(space, address).openSends);
    redis.disconnect(true);
    // The codes that are open, and the lists: this one is here.
    await eventually(() => seen.reads >= 2);
    answered.resolve();
    await eventually(async () => (await sentCount()) === 2);
    expect(sent.map(({ to }) => to)).to.deep.equal(['491511', '491512', '491511']);
    expect(sent[2]).to.deep.equal(sent[0]);
  });

  it('stay where they are when a sender comes; what is linked next goes to the new one', async () => {
    stage.addSender('a');
    await stage.become([12]);
    stage.addSender('b');
    await haveMet('a', 'b');
    await stage.link('another');
    await ringDoorbell(stage.space.store, { topic: 'owner', workspace: 'main', device: 'another' });
    await stage.become([12, 1]);
    expect(stage.logins).to.equal(13);
  });

  it('take little memory while they are idle', async () => {
    // In a process of its own: what other tests leave behind comes and goes by more than this.
    const fixture = fileURLToPath(new URL('./fixtures/idle-memory.js', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', fixture]);
    expect(Number(stdout), 'kB per device').to.be.within(1, 35);
  });

  it('move for balance down to a tenth over the fair share, once the senders have been the same for a while, however long each takes', async () => {
    // Longer than some looks at the balance.
    stage.closeMs = 500;
    stage.addSender('a');
    await stage.become([12]);
    stage.addSender('b');
    await haveMet('a', 'b');
    await stage.become([12, 0]);
    // Not a day in all, however slow the machine is: their sessions would end.
    await eventually(
      () => {
        stage.passedMs += 15_000;
        return stage.loads()[1]! > 0;
      },
      { everyMs: 500 },
    );
    await stage.become([7, 5]);
    expect(stage.logins).to.equal(12 + 5);
  });

  it('go to the new sender one by one when theirs ends: one login each, and four without a connection at most, however long logins take', async () => {
    const old = stage.addSender('a');
    await stage.become([12]);
    stage.addSender('b');
    await haveMet('a', 'b');
    stage.loginMs = 300;
    let fewest = stage.connected;
    const watch = setInterval(() => {
      fewest = Math.min(fewest, stage.connected);
    }, 1);
    await old.stop();
    clearInterval(watch);
    await stage.become([0, 12]);
    expect(stage.logins).to.equal(24);
    expect(fewest).to.be.at.least(12 - 4 - 1);
  });

  it('are claimed also while the list of senders does not answer, once its senders would be dead', async () => {
    const thaw = stage.freeze([memberKeys(stage.space.store.space).members]);
    stage.addSender('a');
    await eventually(() => stage.frozenSteps > 0);
    expect(stage.logins).to.equal(0);
    stage.passedMs += 60_000;
    await stage.become([12]);
    thaw();
  });

  it('do not keep a sender that ends while the node of one of them does not answer', async () => {
    stage.endMs = 500;
    const { pool } = stage.addSender('a');
    await stage.become([12]);
    const { members } = memberKeys(stage.space.store.space);
    const hung = deviceKeys(stage.space.store.space, { workspace: 'main', device: DEVICES[3]! }).owner;
    const thaw = stage.freeze([members, hung]);
    const startedAtMs = performance.now();
    await pool.stop();
    expect(performance.now() - startedAtMs).to.be.below(30_000);
    const others = DEVICES.filter((_, i) => i !== 3).map((device) => ({ workspace: 'main', device }));
    const states = await Promise.all(others.map((address) => readDeviceState(stage.space.store, address)));
    expect(states.filter(({ isOwned }) => isOwned)).to.have.length(0);
    thaw();
  });
});
