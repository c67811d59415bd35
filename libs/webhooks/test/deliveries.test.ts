import { eventWorkspacesKey } from '@gateway/contracts/redis-keys';
import { parseNetworks } from '@gateway/egress/address-rules';
import { systemClock } from '@gateway/runtime/clock';
import { EventBells } from '@gateway/store/events/event-bells';
import { takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { listAttempts } from '@gateway/store/webhooks/webhook-attempts';
import { pauseWebhook, resumeWebhook } from '@gateway/store/webhooks/webhooks';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
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
  const add = (n: number) =>
    addOptOuts(endpoint.space.store, 'main', { numbers: [`4477009000${n}`], source: 'api', atMs: Date.now() });

  it('are several, tell each event once between them, and go on for each other', async () => {
    const { store } = endpoint.space;
    /** What is under way when a process ends may come twice. The first attempt is that of the test. */
    const settled = async () => (await listAttempts(store, 'main', endpoint.id, 200)).length - 1;
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
    const connection = store.redis.duplicate();
    const monitor = await connection.monitor();
    /** How often the process asks in each, without what scripts ask. */
    const looks: number[] = [];
    monitor.on('monitor', (_time: string, command: string[], source: string) => {
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
      monitor.disconnect();
      connection.disconnect();
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
