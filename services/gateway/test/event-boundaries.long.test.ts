import { execFileSync } from 'node:child_process';
import { API_TOKEN_SCOPES } from '@gateway/contracts/api-token';
import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { type Simulator, startSimulator } from '@gateway/simulator/start-simulator';
import { ringDoorbell } from '@gateway/store/core/doorbells';
import { setPace } from '@gateway/store/devices/devices';
import { readRestriction } from '@gateway/store/devices/incidents/restrictions';
import { readSend } from '@gateway/store/sends/read-send';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { Audience, isToldRight } from '@gateway/testkit/chaos/events/audience';
import type { PromisedSend } from '@gateway/testkit/chaos/take-account';
import { eventually } from '@gateway/testkit/eventually';
import { baseUrlOf, Gateway } from '@gateway/testkit/gateway';
import { makeNumbers } from '@gateway/testkit/phones';
import type { ServiceProcess } from '@gateway/testkit/processes/service-process';
import { KEEPS_ALL_WRITES, RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { rewriteHead } from '@gateway/testkit/sends/rewrite-head';
import { expect } from 'chai';

const ACCOUNT = '491600000079';
const DIE_AT = new URL('fixtures/die-at.js', import.meta.url).href;
const ADDRESS = { workspace: 'main', device: 'default' };
const isFrozen = ({ pid }: ServiceProcess) =>
  execFileSync('ps', ['-o', 'state=', '-p', String(pid)])
    .toString()
    .startsWith('T');
const dieAt = (boundary: string) => ({ NODE_OPTIONS: `--import ${DIE_AT}?${boundary}` });

/** Each with what a step says there, if it is not always told of. */
const STEPS_OF_SENDERS = [
  ...['record-results', 'record-received', 'record-restriction', 'expire-send', 'add-opt-outs', 'remove-opt-out'],
  // The first time it is only another owner that is connected.
  'record-observed&with=connected&time=2',
];
const OF_SENDERS = STEPS_OF_SENDERS.flatMap((step) => [`before=${step}`, `after=${step}`]);
/** In the order in which a change passes them. */
const OF_EVENTS = [
  ...['before=append-events', 'after=append-events', 'after=trim-outbox'],
  ...['before=claim-delivery', 'after=claim-delivery', 'before=settle-delivery', 'after=settle-delivery'],
];
const KINDS = ['honest', 'flaky', 'apart'] as const;
/** Who read over the API. */
const CONSUMERS = 2;
const REDIS_KILLS = 20;
const LIST = 150;
const HOUR_MS = 3_600_000;
const NEXT_NEWS_MS = 3_000;

type Until = (check: () => Promise<boolean>) => Promise<unknown>;

/** Starts a process that dies at each boundary. Resolves with those that have not, as they are now. */
async function startAll(
  boundaries: readonly string[],
  start: (env: Record<string, string>) => Promise<ServiceProcess>,
): Promise<() => string[]> {
  const all = await Promise.all(
    boundaries.map(async (boundary) => ({ boundary, dying: await start(dieAt(boundary)) })),
  );
  return () => all.filter(({ dying }) => dying.isRunning).map(({ boundary }) => boundary);
}

describe('events, where everything dies at its worst moments', () => {
  let redis: RedisProcess;
  let space: RedisSpace;
  let simulator: Simulator;
  let gateway: Gateway;
  let audience: Audience;
  const sends: PromisedSend[] = [];
  before(async () => {
    [redis, simulator] = await Promise.all([RedisProcess.start({ settings: KEEPS_ALL_WRITES }), startSimulator()]);
    space = await openRedisSpace({ url: redis.url });
    const env = { SESSION_TTL_MS: '1000', WEBHOOK_NETWORKS: '127.0.0.1/32' };
    gateway = await Gateway.start({ space, simulator, env });
    audience = await Audience.gather(space.store, { bases: [gateway.baseUrl], seed: 1, kinds: KINDS });
    await gateway.link(ACCOUNT);
  });
  /** Each begins with a sender, without a process that brings events, and with an account that the network restricts no more. */
  beforeEach(async () => {
    await endEvents();
    await restrict(0);
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
  async function makeList(recipients: number): Promise<PromisedSend> {
    const to = makeNumbers(recipients, sends.length);
    const accept = async () => {
      const { status, body } = await gateway.call('POST', '/send', { body: { to, text: 'hello' } });
      expect(status, JSON.stringify(body)).to.equal(202);
      return body;
    };
    // Of these a token has thirty a minute.
    const body = await eventually(accept, { everyMs: 1_000 });
    const line = { address: ADDRESS, number: ACCOUNT, token: '' };
    const send = { line, messageId: body.messageId, marker: '', refused: new Set<string>(), to, promisedAtMs: 0 };
    sends.push(send);
    return send;
  }
  async function write(from: string, text: string): Promise<void> {
    const path = `${simulator.adminUrl}/admin/phones/${from}/messages`;
    const written = await fetch(path, { method: 'POST', body: JSON.stringify({ to: ACCOUNT, text }) });
    const { id: platformId } = (await written.json()) as { id: string };
    audience.written.push({ from, platformId, text });
  }
  /** A list, and a person who writes: both come through every part. */
  async function makeNews(recipients: number): Promise<string> {
    const { messageId, to } = await makeList(recipients);
    await write(to[0]!, `a person writes ${sends.length}`);
    return messageId;
  }
  /** Someone wants no more messages, and then messages again. */
  async function makeWishes(until: Until): Promise<void> {
    const [person] = makeNumbers(1, 1_000 + sends.length) as [string];
    for (const wish of ['STOP', 'START']) {
      await write(person, wish);
      await until(async () => ((await findOptOut(space.store, 'main', person)) !== undefined) === (wish === 'STOP'));
    }
  }
  const queuedOf = async (messageId: string) => (await readSend(space.store, ADDRESS, messageId))!.counts.queued;
  const restrict = (untilMs: number) =>
    fetch(`${simulator.adminUrl}/admin/accounts/${ACCOUNT}`, {
      method: 'PUT',
      body: JSON.stringify({ restrictions: { reachoutLockedUntilMs: untilMs } }),
    });
  const isRestricted = async () => (await readRestriction(space.store, ADDRESS)) !== undefined;
  const isTakenIn = async (messageId: string) => {
    const { due } = shardKeys(space.store.space, shardOf(ADDRESS));
    const dueAtMs = await space.store.redis.zscore(due, `main/default/${parseMessageId(messageId)!.tag}`);
    return Number(dueAtMs) > Date.now() + HOUR_MS;
  };
  /** A list that waits as its recipients are strangers, as long as the network restricts the account. */
  async function makeHeldList(until: Until): Promise<PromisedSend> {
    await restrict(Date.now() + HOUR_MS);
    await until(isRestricted);
    const held = await makeList(12);
    await until(() => isTakenIn(held.messageId));
    return held;
  }
  /** A list whose time is over in the middle of it, as its owner finds when it goes on. */
  async function makeEndingList(until: Until): Promise<void> {
    await pace(600);
    const { messageId } = await makeList(12);
    await until(async () => (await queuedOf(messageId)) < 12);
    await rewriteHead(space.store, ADDRESS, messageId, { expiresAt: Date.now() });
    await until(async () => (await queuedOf(messageId)) === 0);
    await pace(0);
  }
  async function pace(messagesPerMinute: number): Promise<void> {
    await setPace(space.store, ADDRESS, { messagesPerMinute, burst: 1, jitter: 0 });
    await ringDoorbell(space.store, { topic: 'sends', ...ADDRESS });
  }
  async function liftRestriction(until: Until): Promise<void> {
    await restrict(0);
    await until(async () => !(await isRestricted()));
  }
  /** All that a sender writes down: the network is away for a moment, a list goes out, another waits until its time is over. */
  async function makeTrouble(until: Until): Promise<void> {
    // That one owner after the other dies is no fault of the device here.
    await space.store.redis.del(deviceKeys(space.store.space, ADDRESS).starts);
    simulator.restartSockets();
    const news = await makeNews(12);
    await makeWishes(until);
    await makeEndingList(until);
    const { messageId } = await makeHeldList(until);
    await rewriteHead(space.store, ADDRESS, messageId, { expiresAt: Date.now() });
    await liftRestriction(until);
    await until(async () => (await queuedOf(news)) + (await queuedOf(messageId)) === 0);
  }
  /** Resolves with how many requests came again. */
  async function expectAllTold(): Promise<number> {
    const wrong: string[] = [];
    const options = { written: redis.written(), say: (line: string) => void wrong.push(line) };
    const result = await audience.takeAccount(space.store, sends, options);
    expect(isToldRight(result), wrong.join('\n')).to.equal(true);
    const recipients = sends.reduce((sum, { to }) => sum + to.length, 0);
    expect(result.changes, 'also those on the way').to.be.above(recipients);
    expect(result.told).to.be.at.least((KINDS.length + CONSUMERS) * result.changes);
    return result.repeats;
  }

  it('tells all once when the process that brings them ends at each boundary', async () => {
    const dying = await startAll(OF_EVENTS, (env) => gateway.addEvents(env));
    for (let left = dying().length; left > 0; left = dying().length) {
      await makeNews(12);
      // What brings none to its end has been told of by others.
      await eventually(() => dying().length < left, { timeoutMs: NEXT_NEWS_MS }).catch(() => {});
    }
    await gateway.addEvents();
    const repeats = await expectAllTold();
    expect(repeats, 'what was posted, and whose answer nobody noted').to.be.above(0);
  });

  it('tells all once when it ends between a request and its answer', async () => {
    // Who is told all together, and who is told of each recipient apart.
    for (const receiver of audience.receivers.filter(({ kind }) => kind !== 'flaky')) {
      await endEvents();
      const dying = await gateway.addEvents();
      const { repeats } = receiver;
      receiver.beforeAnswer = () => dying.kill();
      await makeNews(12);
      await eventually(() => !dying.isRunning, { what: `the end while ${receiver.kind} hears a request` });
      receiver.beforeAnswer = async () => {};
      await gateway.addEvents();
      await expectAllTold();
      expect(receiver.repeats).to.be.above(repeats);
    }
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
    const [, dying] = await Promise.all([
      gateway.senders.at(-1)!.kill(),
      startAll(OF_SENDERS, (env) => gateway.addSender(env)),
    ]);
    while (dying().length > 0) {
      await makeTrouble((check) => eventually(async () => dying().length === 0 || (await check())));
    }
    await gateway.addSender();
    await liftRestriction(eventually);
    await eventually(async () =>
      (await Promise.all(sends.map(({ messageId }) => queuedOf(messageId)))).every((n) => n === 0),
    );
    await restrict(Date.now() + HOUR_MS);
    await eventually(isRestricted);
    await expectAllTold();
  });

  it('tells all once when the API ends before or after it has written down what a caller asked for', async () => {
    await gateway.addEvents();
    const { messageId } = await makeHeldList(eventually);
    const [person] = makeNumbers(1, 2_000) as [string];
    const { value: token } = await createApiToken(space.store, 'main', { name: 'all', scopes: API_TOKEN_SCOPES });
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const ask = async (
      base: string,
      { method, path, body }: { method: string; path: string; body?: object | undefined },
    ) => (await fetch(`${base}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })).status;
    const requests = [
      { step: 'cancel-send', method: 'DELETE', path: `/messages/${messageId}` },
      { step: 'add-opt-outs', method: 'POST', path: '/opt-outs', body: { phone: [person] } },
      { step: 'remove-opt-out', method: 'DELETE', path: `/opt-outs/${person}` },
    ];
    for (const { step, method, path, body } of requests) {
      for (const boundary of [`before=${step}`, `after=${step}`]) {
        const dying = await gateway.addApi(dieAt(boundary));
        const answer = ask(await baseUrlOf(dying), { method, path, body }).catch(() => 'none');
        expect(await answer, `an answer at ${boundary}`).to.equal('none');
        await eventually(() => !dying.isRunning);
      }
      expect(await ask(gateway.baseUrl, { method, path, body }), 'once more').to.equal(200);
    }
    await expectAllTold();
  });

  it(`tells all once when Redis is killed ${REDIS_KILLS} times in the middle of a list`, async () => {
    await gateway.addEvents();
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
