import { parseNetworks } from '@gateway/egress/address-rules';
import { systemClock } from '@gateway/runtime/clock';
import { takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { listAttempts } from '@gateway/store/webhooks/webhook-attempts';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { Deliveries } from '@gateway/webhooks/deliveries';
import { expect } from 'chai';
import { ownerOf } from './support/owner-of.js';
import { silentCounts } from './support/silent-counts.js';
import { useEndpoint } from './support/use-endpoint.js';

describe('processes that deliver webhooks', () => {
  const endpoint = useEndpoint();
  const start = (processId: string, sessionMs = 600_000) =>
    new Deliveries({
      ...{ store: endpoint.space.store, owner: { processId, sessionMs } },
      ...{ counts: silentCounts, logger: silentLogger, clock: systemClock, random: Math.random, tickMs: 20 },
      policy: { isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
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
