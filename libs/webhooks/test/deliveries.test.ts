import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { eventWorkspacesKey, workspaceKeys } from '@gateway/contracts/redis-keys';
import { parseNetworks } from '@gateway/egress/address-rules';
import { systemClock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { EventBells } from '@gateway/store/events/event-bells';
import { endOfLog } from '@gateway/store/events/read-log';
import { takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { listAttempts } from '@gateway/store/webhooks/webhook-attempts';
import { changeWebhook, deleteWebhook, pauseWebhook, resumeWebhook } from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { monitor } from '@gateway/testkit/redis-servers/monitor';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { Deliveries, type DeliveriesDeps } from '@gateway/webhooks/deliveries';
import { expect } from 'chai';
import { ownerOf } from './support/owner-of.js';
import { silentCounts } from './support/silent-counts.js';
import { useEndpoint } from './support/use-endpoint.js';

describe('processes that deliver webhooks', () => {
  const endpoint = useEndpoint();
  const start = (processId: string, sessionMs = 600_000, tickMs = 20, others: Partial<DeliveriesDeps> = {}) =>
    new Deliveries({
      ...{ store: endpoint.space.store, owner: { processId, sessionMs } },
      ...{ counts: silentCounts, logger: silentLogger, clock: systemClock, random: Math.random, tickMs },
      policy: { isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
      ...others,
    });
  /** What is under way when a process ends may come twice. The first attempt is that of the test. */
  const settled = async () => (await listAttempts(endpoint.space.store, 'main', endpoint.id, 200)).length - 1;
  const add = (n: number) =>
    addOptOuts(endpoint.space.store, 'main', { numbers: [`4477009000${n}`], source: 'api', atMs: Date.now() });

  it('are several, tell each event once between them, and go on for each other', async () => {
    let [first, second] = [start('process-1'), start('process-2')];
    try {
      for (let n = 10; n < 20; n++) await add(n);
      await eventually(async () => (await settled()) >= 10);
      await first.close();
      for (let n = 20; n < 25; n++) await add(n);
      await eventually(async () => (await settled()) >= 15);
      await second.close();
      [first, second] = [start('process-3'), second];
      await add(25);
      await eventually(async () => (await settled()) >= 16);
    } finally {
      await Promise.all([first.close(), second.close()]);
    }
    expect(endpoint.received).to.have.length(16);
    expect(new Set(endpoint.received.map(({ id }) => id)).size).to.equal(16);
  });

  it('ask Redis once in a look around for each endpoint with nothing to tell, and three times for its workspace', async () => {
    const { store, prefix } = endpoint.space;
    for (let i = 0; i < 9; i++) await createActiveWebhook(store, `http://127.0.0.1:1/${i}`);
    /** How often the process asks in each, without what scripts ask. */
    const looks: number[] = [];
    const monitored = await monitor(store.redis, (command, source) => {
      if (source === 'lua' || !command.some((word) => word.includes(prefix))) return;
      if (command.includes(eventWorkspacesKey(store.space))) looks.push(0);
      if (looks.length > 0) looks[looks.length - 1]!++;
    });
    const first = start('process-1');
    try {
      await eventually(() => looks.at(-3) === 13 && looks.at(-2) === 13);
      await add(10);
      // No bell has been heard.
      await eventually(() => endpoint.received.length === 1);
    } finally {
      await first.close();
      monitored.close();
    }
  });

  it('leave an endpoint alone for which something waits, until it is time or there is more', async () => {
    const { store } = endpoint.space;
    // What is told is for others: that it was seen is written down after five seconds.
    await changeWebhook(store, 'main', endpoint.id, { settings: { types: ['message.received'] } });
    const webhook = workspaceKeys(store.space, 'main').webhook(endpoint.id);
    const first = await store.redis.hget(webhook, 'lane:prompt');
    await add(10);
    const beforeMs = Date.now() + 1;
    await eventually(() => Date.now() > beforeMs);
    await add(11);
    await replayWebhook(store, { workspace: 'main', id: endpoint.id }, { afterMs: 0, beforeMs }, Date.now());
    let nowMs = Date.now();
    const clock = { ...systemClock, nowMs: () => nowMs };
    /** How often it is taken, by look around. */
    const looks = [0];
    const run: typeof store.run = (name, ...rest) => {
      if (name === 'take-webhook') looks[looks.length - 1]!++;
      return store.run(name, ...rest);
    };
    const smembers = (key: string) => {
      if (key === eventWorkspacesKey(store.space)) looks.push(0);
      return store.redis.smembers(key);
    };
    const redis = Object.create(store.redis, { smembers: { value: smembers } });
    const process = start('process-1', 600_000, 120, { clock, store: { ...store, run, redis } });
    try {
      // One to see what it is like, one to look.
      await eventually(() => looks.length >= 4 && looks.slice(-3, -1).every((takes) => takes <= 2));
      process.wake('main', 'lists');
      const before = looks.reduce((sum, each) => sum + each, 0);
      await eventually(() => looks.reduce((sum, each) => sum + each, 0) > before);
      expect(await store.redis.hget(webhook, 'lane:prompt')).to.equal(first);
      nowMs += 5_000;
      await eventually(async () => (await store.redis.hget(webhook, 'lane:prompt')) !== first);
      await addOptOuts(store, 'main', { numbers: ['447700900012'], source: 'api', atMs: nowMs });
      // The time of what was to be told once more has come long ago.
      const since = looks.length;
      await eventually(() => looks.length >= since + 4 && looks.slice(-3, -1).every((takes) => takes <= 2), {
        timeoutMs: 15_000,
      });
    } finally {
      await process.close();
    }
  });

  it('post on one connection, which ends when the endpoint is changed, paused or deleted, and when they stop', async () => {
    const { store, clients } = endpoint.space;
    const bells = await EventBells.listen(clients.subscriber, store.space);
    let process = start('process-1');
    bells.onAny((workspace, news) => process.wake(workspace, news));
    let told = 0;
    const tell = async () => {
      await add(10 + ++told);
      await eventually(async () => (await settled()) >= told);
      expect(endpoint.received).to.have.length(told);
    };
    const isClosed = () => eventually(() => endpoint.sockets.open === 0);
    try {
      for (let n = 0; n < 3; n++) await tell();
      expect(endpoint.sockets).to.deep.equal({ all: 1, open: 1 });
      await changeWebhook(store, 'main', endpoint.id, { settings: { description: 'another' } });
      await isClosed();
      await tell();
      await pauseWebhook(store, 'main', endpoint.id);
      await isClosed();
      await resumeWebhook(store, 'main', endpoint.id);
      await tell();
      expect(endpoint.sockets).to.deep.equal({ all: 3, open: 1 });
      await process.close();
      await isClosed();
      process = start('process-2');
      await tell();
      expect(endpoint.sockets).to.deep.equal({ all: 4, open: 1 });
      await deleteWebhook(store, 'main', endpoint.id);
      await isClosed();
    } finally {
      bells.close();
      await process.close();
    }
  });

  it('hear of what is asked of an endpoint, and of the end of another process, without a look around', async () => {
    const { store, clients } = endpoint.space;
    const bells = await EventBells.listen(clients.subscriber, store.space);
    const [first, second] = [start('process-1', 600_000, 60_000), start('process-2', 600_000, 60_000)];
    const toldOf = (n: number) => endpoint.received.filter(({ body }) => body.includes(`4477009000${n}`)).length;
    for (const each of [first, second]) bells.onAny((workspace, news) => each.wake(workspace, news));
    try {
      await pauseWebhook(store, 'main', endpoint.id);
      await add(10);
      await resumeWebhook(store, 'main', endpoint.id);
      await eventually(() => toldOf(10) === 1);
      const replay = { afterMs: 0, beforeMs: Date.now() + 60_000 };
      await replayWebhook(store, { workspace: 'main', id: endpoint.id }, replay, Date.now());
      await eventually(() => toldOf(10) === 2);
      await add(11);
      await first.close();
      await eventually(() => toldOf(11) >= 1);
    } finally {
      bells.close();
      await Promise.all([first.close(), second.close()]);
    }
  });

  it('look with the next tick when lists have more to tell', async () => {
    const tickMs = 2_000;
    let askedAtMs = 0;
    // All is old for it: that the lane of lists has passed it is written down at once, and not when a tick comes.
    const clock = { ...systemClock, nowMs: () => Date.now() + 60_000 };
    const store = new Proxy(endpoint.space.store, {
      get(all, name) {
        if (name === 'run') askedAtMs = performance.now();
        return Reflect.get(all, name);
      },
    });
    const owner = start('process-1', 600_000, tickMs, { clock, store });
    try {
      await add(10);
      owner.wake('main');
      await eventually(() => endpoint.received.length === 1);
      await eventually(() => performance.now() - askedAtMs > 1.5 * tickMs, { what: 'that it has nothing to do' });
      await add(11);
      owner.wake('main', 'lists');
      // Long before it looks around.
      await eventually(() => endpoint.received.length === 2, { timeoutMs: 5 * tickMs });
    } finally {
      await owner.close();
    }
  });

  it('look at each entry of the log once for a lane that it is not for, and read an endpoint once', async () => {
    const { store, prefix } = endpoint.space;
    const asked: string[] = [];
    const monitored = await monitor(store.redis, ([command, key, from], source) => {
      const isRead = command === 'xrange' || command === 'hgetall';
      if (source !== 'lua' && isRead && key?.startsWith(prefix)) asked.push(`${command} ${from ?? ''}`);
    });
    // The time never comes at which it is written down that the lane of lists has passed what is for the other one.
    const now = Date.now();
    const owner = start('process-1', 600_000, 20, { clock: { ...systemClock, nowMs: () => now } });
    try {
      await add(10);
      owner.wake('main');
      await eventually(() => endpoint.received.length === 1);
      const last = (await endOfLog(store, 'main')).entry;
      const isSeen = () => asked.length >= 10 && asked.slice(-10).every((each) => each === `xrange (${last}`);
      await eventually(isSeen, { what: 'that it looks behind the last entry alone' });
    } finally {
      await owner.close();
      monitored.close();
    }
  });

  it('ask Redis nothing while they wait for an answer and nothing happens, and tell at once what does', async () => {
    const { store, prefix } = endpoint.space;
    const toldOf = (n: number) => endpoint.received.filter(({ body }) => body.includes(`4477009000${n}`)).length;
    let answer: (() => void) | undefined;
    // What is told once more has no answer for now.
    endpoint.answer = (_request, res) => {
      if (toldOf(10) < 2 || answer) return 204;
      answer = () => void res.writeHead(204).end();
      return undefined;
    };
    let asked = 0;
    const monitored = await monitor(store.redis, (command, source) => {
      if (source !== 'lua' && command.some((word) => word.includes(prefix))) asked++;
    });
    const owner = start('process-1', 600_000, 60_000);
    try {
      await add(10);
      owner.wake('main');
      await eventually(() => toldOf(10) === 1);
      const replay = { afterMs: 0, beforeMs: Date.now() + 60_000 };
      await replayWebhook(store, { workspace: 'main', id: endpoint.id }, replay, Date.now());
      owner.wake('main');
      await eventually(() => answer !== undefined);
      const sinceMs = performance.now();
      asked = 0;
      await eventually(() => performance.now() - sinceMs > 1_500);
      expect(asked, 'of each lane once').to.be.below(10);
      await add(11);
      owner.wake('main');
      await eventually(() => toldOf(11) === 1);
    } finally {
      answer?.();
      await owner.close();
      monitored.close();
    }
  });

  it('tell what happens in a workspace while the node of another one is away, also where no bell was heard', async () => {
    const { store } = endpoint.space;
    await createActiveWebhook(store, 'http://127.0.0.1:1/', 'away');
    const back = defer<void>();
    const smembers = async (key: string) => {
      if (key === workspaceKeys(store.space, 'away').webhooks) await back.promise;
      return store.redis.smembers(key);
    };
    const redis = Object.create(store.redis, { smembers: { value: smembers } });
    const owner = start('process-1', 600_000, 20, { store: { ...store, redis } });
    try {
      owner.wake('away');
      await add(10);
      await eventually(() => endpoint.received.length === 1, { timeoutMs: 5_000 });
      await add(11);
      owner.wake('main');
      await eventually(() => endpoint.received.length === 2, { timeoutMs: 5_000 });
    } finally {
      back.resolve();
      await owner.close();
    }
  });

  it('leave an endpoint that answers soon its place beside a hundred that hang, however much it was told', async () => {
    const { store } = endpoint.space;
    let hanging = 0;
    const hangs = createServer(() => hanging++);
    await once(hangs.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(hangs.address() as AddressInfo).port}/`;
    for (let i = 0; i < 100; i++) await createActiveWebhook(store, url, `w${i % 10}`);
    for (let i = 0; i < 10; i++) {
      await addOptOuts(store, `w${i}`, { numbers: ['447700900001'], source: 'api', atMs: Date.now() });
    }
    let aheadMs = 0;
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    endpoint.answer = () => {
      aheadMs += 300;
      return 204;
    };
    const owner = start('process-1', 600_000, 100, { clock });
    const tell = async (n: number, timeoutMs?: number) => {
      await add(n);
      owner.wake('main');
      await eventually(() => endpoint.received.some(({ body }) => body.includes(`4477009000${n}`)), {
        timeoutMs: timeoutMs ?? 60_000,
      });
    };
    try {
      for (let n = 10; n < 20; n++) await add(n);
      await tell(20);
      await eventually(() => hanging === 100);
      const sinceMs = performance.now();
      await eventually(() => performance.now() - sinceMs > 500, { what: 'that it has nothing to do' });
      await tell(30, 3_000);
    } finally {
      hangs.closeAllConnections();
      hangs.close();
      await owner.close();
    }
  });

  it('keep their endpoints while a request takes longer than their sessions last', async () => {
    const sessionMs = 1_000;
    const { store } = endpoint.space;
    let answer: (() => void) | undefined;
    endpoint.answer = (_request, res) => {
      answer = () => void res.writeHead(204).end();
      return undefined;
    };
    const owner = start('process-1', sessionMs);
    try {
      await add(10);
      const askedAtMs = await eventually(() => answer && performance.now());
      const take = () => takeWebhook(store, { workspace: 'main', id: endpoint.id }, ownerOf('process-2'));
      while (performance.now() - askedAtMs < 1.5 * sessionMs) expect(await take()).to.equal('taken');
      answer?.();
      await owner.close();
      expect(await take()).to.include({ processId: 'process-2' });
    } finally {
      await owner.close();
    }
  });
});
