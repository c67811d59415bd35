import { execFileSync } from 'node:child_process';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { readSend } from '@gateway/store/sends/read-send';
import { Audience, isToldRight } from '@gateway/testkit/chaos/events/audience';
import type { PromisedSend } from '@gateway/testkit/chaos/take-account';
import { eventually } from '@gateway/testkit/eventually';
import { Gateway } from '@gateway/testkit/gateway';
import { makeNumbers } from '@gateway/testkit/phones';
import type { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const ACCOUNT = '491600000079';
const DIE_AT = new URL('fixtures/die-at.js', import.meta.url).href;
const ADDRESS = { workspace: 'main', device: 'default' };
const isFrozen = ({ pid }: ServiceProcess) =>
  execFileSync('ps', ['-o', 'state=', '-p', String(pid)])
    .toString()
    .startsWith('T');
const dieAt = (boundary: string) => ({ NODE_OPTIONS: `--import ${DIE_AT}?${boundary}` });

/** In the order in which a change passes them. */
const OF_SENDERS = ['before=record-results', 'after=record-results', 'before=record-received', 'after=record-received'];
const OF_EVENTS = [
  ...['before=append-events', 'after=append-events', 'after=trim-outbox'],
  ...['before=claim-delivery', 'after=claim-delivery', 'before=settle-delivery', 'after=settle-delivery'],
];
const REDIS_KILLS = 20;
const LIST = 150;

describe('events, where everything dies at its worst moments', () => {
  let redis: RedisProcess;
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  let audience: Audience;
  const sends: PromisedSend[] = [];
  before(async () => {
    [redis, simulator] = await Promise.all([RedisProcess.start(), startSimulator()]);
    space = await openRedisSpace({ url: redis.url });
    const env = { SESSION_TTL_MS: '1000', WEBHOOK_NETWORKS: '127.0.0.1/32' };
    gateway = await Gateway.start({ space, simulator, env });
    await gateway.link(ACCOUNT);
    audience = await Audience.gather(space.store, { bases: [gateway.baseUrl], seed: 1, kinds: ['honest'] });
  });
  /** Each begins with a sender, and without a process that brings events. */
  beforeEach(async () => {
    await endEvents();
    if (!gateway.senders.some(({ isRunning }) => isRunning)) await gateway.addSender();
  });
  after(async () => {
    await audience?.close();
    await gateway?.close();
    await simulator?.close();
    await space?.close();
    await redis?.stop();
  });

  async function endEvents(): Promise<void> {
    for (const each of gateway.events) await each.kill();
  }
  /** A list, and a person who writes: both come through every part. */
  async function makeNews(recipients: number): Promise<string> {
    const to = makeNumbers(recipients, sends.length);
    const { body } = await gateway.call('POST', '/send', { body: { to, text: 'hello' } });
    const line = { address: ADDRESS, number: ACCOUNT, token: '' };
    sends.push({ line, messageId: body.messageId, marker: '', refused: new Set(), to, promisedAtMs: 0 });
    const text = `a person writes ${sends.length}`;
    const path = `${simulator.adminUrl}/admin/phones/${to[0]}/messages`;
    const written = await fetch(path, { method: 'POST', body: JSON.stringify({ to: ACCOUNT, text }) });
    const { id: platformId } = (await written.json()) as { id: string };
    audience.written.push({ from: to[0]!, platformId, text });
    return body.messageId;
  }
  async function expectAllTold(): Promise<void> {
    const wrong: string[] = [];
    const result = await audience.takeAccount(space.store, sends, (line) => wrong.push(line));
    expect(isToldRight(result), wrong.join('\n')).to.equal(true);
    expect(result.told).to.be.at.least(3 * sends.reduce((sum, { to }) => sum + to.length, 0));
  }

  it('tells all once when the process that brings them ends at each boundary', async () => {
    for (const boundary of OF_EVENTS) {
      const dying = await gateway.addEvents(dieAt(boundary));
      await makeNews(12);
      await eventually(() => !dying.isRunning, { what: `the end at ${boundary}` });
    }
    await gateway.addEvents();
    await expectAllTold();
  });

  it('tells all once when one that was frozen there goes on after another has done its work', async () => {
    for (const boundary of ['before=append-events', 'before=settle-delivery']) {
      await endEvents();
      const frozen = await gateway.addEvents(dieAt(`${boundary}&signal=SIGSTOP`));
      await makeNews(12);
      await eventually(() => isFrozen(frozen), { what: `a standstill at ${boundary}` });
      await gateway.addEvents();
      await expectAllTold();
      frozen.signal('SIGCONT');
      await makeNews(12);
      await expectAllTold();
    }
  });

  it('waits for no session to run out where a process was stopped, or starts again under its name', async () => {
    // Less than a session.
    const env = { SESSION_TTL_MS: '60000', INSTANCE_NAME: 'teller' };
    const dying = await gateway.addEvents({ ...env, ...dieAt('before=settle-delivery') });
    await makeNews(12);
    await eventually(() => !dying.isRunning, { what: 'the end in mid-delivery' });
    const again = await gateway.addEvents(env);
    await expectAllTold();
    await again.stop();
    await makeNews(12);
    await gateway.addEvents();
    await expectAllTold();
  });

  it('tells all once when the sender ends before or after it has written them down', async () => {
    await gateway.addEvents();
    for (const boundary of OF_SENDERS) {
      await gateway.senders.at(-1)!.kill();
      const dying = await gateway.addSender(dieAt(boundary));
      await makeNews(12);
      await eventually(() => !dying.isRunning, { what: `the end at ${boundary}` });
    }
    await gateway.addSender();
    await expectAllTold();
  });

  it(`tells all once when Redis is killed ${REDIS_KILLS} times in the middle of a list`, async () => {
    await gateway.addEvents();
    const queuedOf = async (messageId: string) => (await readSend(space.store, ADDRESS, messageId))!.counts.queued;
    let messageId = await makeNews(LIST);
    for (let kill = 0; kill < REDIS_KILLS; kill++) {
      if ((await queuedOf(messageId)) === 0) messageId = await makeNews(LIST);
      const before = await queuedOf(messageId);
      await eventually(async () => (await queuedOf(messageId)) < before, { everyMs: 10 });
      await redis.killAndRestart();
    }
    await eventually(async () => (await queuedOf(messageId)) === 0);
    await expectAllTold();
  });
});
