import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseNetworks } from '@gateway/egress/address-rules';
import { systemClock } from '@gateway/runtime/clock';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { Deliveries } from '@gateway/webhooks/deliveries';
import { silentCounts } from './support/silent-counts.js';
import { useEndpoint } from './support/use-endpoint.js';

/** All slow places. */
const HANGING = 200;

async function passes(ms: number, what: string): Promise<void> {
  const sinceMs = performance.now();
  await eventually(() => performance.now() - sinceMs > ms, { what });
}

describe('an endpoint that has answered slowly, beside two hundred that hang', () => {
  const endpoint = useEndpoint();

  const cases = {
    'has its place also the next time, if they are of few workspaces': { soon: [], workspaces: 10 },
    'has its place once it has answered soon again, if each is of another workspace': {
      soon: [12],
      workspaces: HANGING,
    },
  };
  for (const [name, { soon, workspaces: count }] of Object.entries(cases)) {
    it(name, async () => {
      const { store } = endpoint.space;
      let hanging = 0;
      const hangs = createServer(() => hanging++);
      await once(hangs.listen(0, '127.0.0.1'), 'listening');
      const url = `http://127.0.0.1:${(hangs.address() as AddressInfo).port}/`;
      let aheadMs = 0;
      const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
      const addTo = (workspace: string, n: number) =>
        addOptOuts(store, workspace, { numbers: [`4477009000${n}`], source: 'api', atMs: Date.now() });
      const owner = new Deliveries({
        ...{ store, owner: { processId: 'process-1', sessionMs: 600_000 }, tickMs: 100 },
        ...{ counts: silentCounts, logger: silentLogger, clock, random: Math.random },
        policy: { isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
      });
      const tell = async (n: number, timeoutMs: number) => {
        await addTo('main', n);
        owner.wake('main');
        const isTold = () => endpoint.received.some(({ body }) => body.includes(`4477009000${n}`));
        await eventually(isTold, { timeoutMs });
        await passes(500, 'that it has nothing to do');
      };
      try {
        endpoint.answer = () => {
          aheadMs += 1_100;
          return 204;
        };
        await tell(11, 60_000);
        endpoint.answer = () => 204;
        for (const n of soon) await tell(n, 60_000);
        const workspaces = Array.from({ length: count }, (_, i) => `w${i}`);
        for (let i = 0; i < HANGING; i++) await createActiveWebhook(store, url, workspaces[i % count]);
        for (const workspace of workspaces) await addTo(workspace, 10);
        owner.wake();
        await eventually(() => hanging === HANGING);
        await passes(2_000, 'that they have turned out to be slow');
        await tell(20, 3_000);
      } finally {
        hangs.closeAllConnections();
        hangs.close();
        await owner.close();
      }
    });
  }
});
