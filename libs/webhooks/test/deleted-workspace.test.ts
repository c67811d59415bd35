import { eventWorkspacesKey, workspaceKeys } from '@gateway/contracts/redis-keys';
import { systemClock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { deleteWorkspace, findWorkspace } from '@gateway/store/workspace/delete-workspace';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { Deliveries } from '@gateway/webhooks/deliveries';
import { expect } from 'chai';
import { silentCounts } from './support/silent-counts.js';

const AT_ONCE = { logoutMs: 0, closingMs: 0 };
const TICK_MS = 100;

describe('a workspace that is deleted while a process delivers to its endpoints', () => {
  it('gets nothing from that process, however often it says there that it lives', async () => {
    const space = await openRedisSpace();
    const { store } = space;
    const session = workspaceKeys(store.space, 'shop').webhookSession('process-1');
    let isAway = false;
    let isAwaited = false;
    const back = defer<void>();
    // That the workspace has gone is not heard of: the node with the list of them is away.
    const smembers = async (key: string) => {
      if (isAway && key === eventWorkspacesKey(store.space)) {
        isAwaited = true;
        await back.promise;
      }
      return store.redis.smembers(key);
    };
    let renewals = 0;
    const pexpire = (key: string, ms: number) => {
      if (key === session) renewals++;
      return store.redis.pexpire(key, ms);
    };
    const redis = Object.create(store.redis, { smembers: { value: smembers }, pexpire: { value: pexpire } });
    await createWorkspace(store, 'shop');
    await createActiveWebhook(store, 'http://127.0.0.1:1/', 'shop');
    const deliveries = new Deliveries({
      ...{ store: { ...store, redis }, owner: { processId: 'process-1', sessionMs: 30 * TICK_MS } },
      ...{ counts: silentCounts, logger: silentLogger, clock: systemClock, random: Math.random },
      ...{ policy: { isSecure: true, addresses: { allowed: [] } }, tickMs: TICK_MS },
    });
    try {
      await eventually(async () => (await store.redis.exists(session)) === 1);
      // A look at the endpoint while it is deleted finds that it is gone.
      isAway = true;
      await eventually(() => isAwaited && renewals >= 2);
      await deleteWorkspace(store, 'shop', AT_ONCE);
      renewals = 0;
      await eventually(() => renewals >= 2);
      const { found } = await findWorkspace(store, 'shop', { withName: true });
      expect(found).to.deep.equal({ keys: [], entries: [] });
    } finally {
      back.resolve();
      await deliveries.close();
      await space.close();
    }
  });
});
