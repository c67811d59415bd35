import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { settleDelivery, type TakenWebhook, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { openRedisSpace } from '@gateway/testkit/redis-space';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';

describe('requests of two lanes that fail together', () => {
  it('are written down one after the other: that the endpoint fails is not lost by what a replay adds', async () => {
    const space = await openRedisSpace();
    const id = await createActiveWebhook(space.store, 'https://example.com/hook');
    const owner = { processId: 'process-1', sessionMs: 60_000 };
    const taken = (await takeWebhook(space.store, { workspace: 'main', id }, owner)) as TakenWebhook;
    const attempt = { webhookId: 'evt_1', atMs: 1, tookMs: 0, status: 503, error: null, answer: '' };
    const settle = (lane: 'lists' | 'prompt', outcome: Parameters<typeof settleDelivery>[3]['outcome']) =>
      settleDelivery(space.store, taken, { lane, state: { cursor: '1-0' }, nowMs: 1 }, { attempt, outcome });
    const first = settle('lists', { status: 'failing', breaker: { failures: 1 } });
    const second = settle('prompt', { status: 'active', breaker: { ...taken.breaker, failedReplay: true } });
    expect(await Promise.all([first, second])).to.deep.equal([true, true]);
    const breaker = await space.store.redis.hget(workspaceKeys(space.store.space, 'main').webhook(id), 'breaker');
    expect(JSON.parse(breaker!)).to.deep.equal({ failures: 1, failedReplay: true });
    await space.close();
  });
});
