import { parseNetworks } from '@gateway/egress/address-rules';
import { systemClock } from '@gateway/runtime/clock';
import { listAttempts } from '@gateway/store/webhooks/webhook-attempts';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { Deliveries } from '@gateway/webhooks/deliveries';
import { expect } from 'chai';
import { silentCounts } from './support/silent-counts.js';
import { useEndpoint } from './support/use-endpoint.js';

describe('processes that deliver webhooks', () => {
  const endpoint = useEndpoint();

  it('are several, tell each event once between them, and go on for each other', async () => {
    const { store } = endpoint.space;
    const start = (token: string) =>
      new Deliveries({
        ...{
          store,
          token,
          counts: silentCounts,
          logger: silentLogger,
          clock: systemClock,
          random: Math.random,
          tickMs: 20,
        },
        policy: { isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
      });
    /** What is under way when a process ends may come twice. The first attempt is that of the test. */
    const settled = async () => (await listAttempts(store, 'main', endpoint.id, 200)).length - 1;
    const add = (n: number) =>
      addOptOuts(store, 'main', { numbers: [`4477009000${n}`], source: 'api', atMs: Date.now() });
    let [first, second] = [start('process-1'), start('process-2')];
    try {
      for (let n = 10; n < 20; n++) await add(n);
      await eventually(async () => (await settled()) >= 10);
      await first.close();
      await endpoint.endLease();
      for (let n = 20; n < 25; n++) await add(n);
      await eventually(async () => (await settled()) >= 15);
      await second.close();
      await endpoint.endLease();
      [first, second] = [start('process-3'), second];
      await add(25);
      await eventually(async () => (await settled()) >= 16);
    } finally {
      await Promise.all([first.close(), second.close()]);
    }
    expect(endpoint.received).to.have.length(16);
    expect(new Set(endpoint.received.map(({ id }) => id)).size).to.equal(16);
  });
});
