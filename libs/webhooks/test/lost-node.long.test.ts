import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { ChangeData, GatewayEvent } from '@gateway/contracts/events/events';
import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, eventWorkspacesKey, workspaceKeys } from '@gateway/contracts/redis-keys';
import { makeWebhookSecret } from '@gateway/contracts/webhooks/signature';
import { DEFAULT_WEBHOOK_SETTINGS, WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import { parseNetworks } from '@gateway/egress/address-rules';
import { systemClock } from '@gateway/runtime/clock';
import { readEvents } from '@gateway/store/events/reading/read-events';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { recordResults } from '@gateway/store/sends/change-send';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { type SurveyedWorkspaces, surveyWebhooks } from '@gateway/store/webhooks/survey-webhooks';
import { listAttempts, recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { createWebhook, pauseWebhook } from '@gateway/store/webhooks/webhooks';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { takeDevice } from '@gateway/testkit/ownership';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openSpaceBesideNode, portOf, type RedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { Deliveries } from '@gateway/webhooks/deliveries';
import { expect } from 'chai';
import { ownerOf } from './support/owner-of.js';
import { silentCounts } from './support/silent-counts.js';

/** What a node may take to answer, for one of those who find out, and what they do besides. */
const SOON_MS = 5_000;
const WITHIN = { everyMs: 50, timeoutMs: 30_000 };
const names = Array.from({ length: 100 }, (_, i) => `device-${i}`);

describe('a webhook of a workspace while a node of a Redis Cluster is away that has some of its devices', () => {
  let cluster: RedisCluster;
  let space: RedisSpace;
  let lost: RedisProcess;
  let server: Server;
  let deliveries: Deliveries | undefined;
  const told: string[] = [];
  let requests = 0;

  before(async () => {
    // As Redis has it: until then the others take it for alive.
    cluster = await startRedisCluster({ nodeTimeoutMs: 15_000 });
    server = createServer(async (req, res) => {
      requests++;
      const { type, device, data } = JSON.parse((await buffer(req)).toString()) as GatewayEvent;
      for (const { index } of (data.changes ?? [data]) as ChangeData[]) told.push(`${device} ${type} ${index}`);
      res.writeHead(204).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  after(async () => {
    server.close();
    await cluster.stop();
  });
  beforeEach(async () => {
    told.length = 0;
    requests = 0;
    const opened = await openSpaceBesideNode(cluster, (keys) => [
      workspaceKeys(keys, 'main').eventLog,
      eventWorkspacesKey(keys),
    ]);
    ({ space } = opened);
    lost = opened.master;
  });
  afterEach(async () => {
    lost.thaw();
    lost.restart();
    await eventually(() => cluster.agree(), WITHIN);
    await deliveries?.close();
    await space.close();
  });

  async function createEndpoint(workspace: string) {
    const made = await createWebhook(space.store, workspace, {
      settings: { ...DEFAULT_WEBHOOK_SETTINGS, types: ['message.sent', 'messages.updated'], gatherSeconds: 1 },
      target: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, headers: {} },
      secrets: [{ secret: makeWebhookSecret('v1') }],
    });
    if (made === 'full') throw new Error('full');
    const attempt = { webhookId: 'evt_0', atMs: 0, tookMs: 0, status: 200, error: null, answer: '' };
    await recordAttempt(space.store, workspace, made.id, { attempt, verifiesRevision: made.revision });
    return made.id;
  }

  async function prepare() {
    const { store } = space;
    const isThere = (device: string) => portOf(space, deviceKeys(store.space, at(device)).device) === lost.port;
    const at = (device: string) => ({ workspace: 'main', device });
    const [there, elsewhere] = [names.find(isThere)!, names.find((name) => !isThere(name))!];
    const id = await createEndpoint('main');
    const sendFrom = async (device: string) => {
      const owner = (await takeDevice(store, at(device), { owner: 'a', ttlMs: 600_000 }))!;
      const nowMs = Date.now();
      const { messageId } = await acceptSend(store, at(device), {
        ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, owner: 't', requestId: 'order-1' },
        ...{ recipients: names.map((_, i) => `49151123${40_000 + i}`), nowMs, expiresAtMs: nowMs + 600_000 },
      });
      const { tag } = parseMessageId(messageId)!;
      return async (from: number, to: number) => {
        const indices = Array.from({ length: to - from }, (_, i) => from + i);
        const events = indices.map((recipient) => ({ recipient, part: 0, event: 'acked' as const }));
        await recordResults(store, owner, { tag, nowMs: Date.now(), events });
      };
    };
    const relay = async () => {
      for (const full of await findFullOutboxes(store, 'main')) await relayOutbox(store, full);
    };
    return { id, there, elsewhere, relay, ofThere: await sendFrom(there), ofElsewhere: await sendFrom(elsewhere) };
  }

  function startDeliveries() {
    const { store } = space;
    deliveries = new Deliveries({
      ...{ store, owner: ownerOf('process-1'), counts: silentCounts, logger: silentLogger, clock: systemClock },
      ...{ random: Math.random, tickMs: 200 },
      policy: { isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
    });
  }

  const alone = (device: string, from: number, to: number) =>
    Array.from({ length: to - from }, (_, i) => `${device} message.sent ${from + i}`);
  const aloneOf = (device: string) => told.filter((each) => each.startsWith(`${device} message.sent`));

  for (const [how, goAway, comeBack] of [
    ['hangs', () => lost.freeze(), () => lost.thaw()],
    ['is dead', () => lost.kill(), () => lost.restart()],
  ] as const) {
    it(`is told of the others soon, and of these once it is back, in order (it ${how})`, async () => {
      const { there, elsewhere, relay, ofThere, ofElsewhere } = await prepare();
      await ofThere(0, 20);
      await relay();
      await ofElsewhere(0, 20);
      await relay();
      await goAway();
      const fromMs = performance.now();
      startDeliveries();
      await eventually(() => aloneOf(elsewhere).length === 20, WITHIN);
      expect(performance.now() - fromMs, 'until it was told').to.be.below(SOON_MS);
      expect(aloneOf(there)).to.deep.equal([]);
      const page = await readEvents({ store: space.store, workspace: 'main' }, { entry: '0-0', offset: 0 }, PAGE);
      if ('oldest' in page) throw new Error('gone');
      expect(page.rows.map(({ event }) => `${event.device} ${event.type} ${event.data.index}`)).to.deep.equal(
        alone(elsewhere, 0, 20),
      );
      const heard = [...page.rows];
      await comeBack();
      await eventually(() => aloneOf(there).length === 20, WITHIN);
      expect(aloneOf(there)).to.deep.equal(alone(there, 0, 20));
      for (let { next } = page; heard.length < 40; ) {
        const more = await readEvents({ store: space.store, workspace: 'main' }, next, PAGE);
        if ('oldest' in more) throw new Error('gone');
        heard.push(...more.rows);
        next = more.next;
      }
      expect(heard.slice(20).map(({ event }) => `${event.device} ${event.type} ${event.data.index}`)).to.deep.equal(
        alone(there, 0, 20),
      );
      await ofThere(20, 25);
      await relay();
      deliveries!.wake('main');
      await eventually(() => aloneOf(there).length === 25, WITHIN);
      expect(aloneOf(there)).to.deep.equal(alone(there, 0, 25));
      await eventually(() => told.length === 2 * 45, WITHIN);
    });
  }

  it('is told once more of the others meanwhile, also by the next replay, and then of these', async () => {
    const { id, there, elsewhere, relay, ofThere, ofElsewhere } = await prepare();
    await ofThere(0, 10);
    await relay();
    await ofElsewhere(0, 10);
    await relay();
    startDeliveries();
    await eventually(() => told.length === 40, WITHIN);
    // What is under way when a process ends comes once more. The first attempt is that of the test.
    const listed = () => listAttempts(space.store, 'main', id, WEBHOOK_LIMITS.keptAttempts);
    await eventually(async () => (await listed()).length === requests + 1, WITHIN);
    await deliveries!.close();
    told.length = 0;
    const ask = (minutes: number) => {
      const times = { afterMs: Date.now() - minutes * 60_000, beforeMs: Date.now() + 60_000 };
      return replayWebhook(space.store, { workspace: 'main', id }, times, Date.now());
    };
    expect(await ask(5)).to.deep.equal({ unknown: [] });
    lost.freeze();
    const fromMs = performance.now();
    startDeliveries();
    await eventually(() => aloneOf(elsewhere).length === 10, WITHIN);
    expect(performance.now() - fromMs, 'until it was told').to.be.below(SOON_MS);
    expect(await ask(6)).to.deep.equal({ unknown: [] });
    deliveries!.wake('main');
    await eventually(() => aloneOf(elsewhere).length === 20, WITHIN);
    expect(aloneOf(there)).to.deep.equal([]);
    lost.thaw();
    await eventually(() => told.length === 80, WITHIN);
    expect(aloneOf(there)).to.deep.equal([...alone(there, 0, 10), ...alone(there, 0, 10)]);
  });

  it('counts on as it was found last, where that node has all of a workspace; others are counted anew', async () => {
    const { store } = space;
    const isThere = (name: string) => portOf(space, workspaceKeys(store.space, name).webhooks) === lost.port;
    const there = names.find(isThere)!;
    await createWorkspace(store, there);
    await createEndpoint(there);
    const id = await createEndpoint('main');
    const known: SurveyedWorkspaces = new Map();
    expect((await surveyWebhooks(store, known)).byStatus).to.include({ active: 2, paused: 0 });
    lost.freeze();
    await pauseWebhook(store, 'main', id);
    const fromMs = performance.now();
    for (let looks = 0; looks < 2; looks++) {
      expect((await surveyWebhooks(store, known)).byStatus).to.include({ active: 1, paused: 1 });
    }
    expect(performance.now() - fromMs).to.be.below(SOON_MS);
  });
});

const PAGE = { types: ['message.sent'], limit: 500 };
