import { parseMessageId } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createMetrics } from '@gateway/runtime/process/metrics';
import { loadSend } from '@gateway/sender/preparing/load-send';
import { createSenderMetrics } from '@gateway/sender/sender-metrics';
import { acquireLease } from '@gateway/store/fleet/leases';
import { acceptSend } from '@gateway/store/sends/accept-send';
import { readSend } from '@gateway/store/sends/read-send';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'a' };

describe('a send whose content cannot be read', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  it('fails as a whole, and its recipients are counted', async () => {
    const { store } = space;
    const nowMs = Date.now();
    const { messageId } = await acceptSend(store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['491511', '491512'] },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
    });
    const { record } = sendKeys(store.space, address, parseMessageId(messageId)!.tag);
    await store.redis.hset(record, 'content', JSON.stringify({ kind: 'text', text: 'not sealed' }));
    const registry = createMetrics('test');
    const deps = {
      store,
      lease: (await acquireLease(store, address, { owner: 'a', ttlMs: 60_000 }))!,
      clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
      logger: createLogger({ service: 'test', level: 'silent' as 'error' }),
      metrics: createSenderMetrics(registry, () => ({})),
      ids: platformIds(Buffer.alloc(16)),
    };
    const options = { finish: () => {} };
    expect(await loadSend(deps as Parameters<typeof loadSend>[0], messageId, options)).to.equal(undefined);
    expect((await readSend(store, address, messageId))!.counts).to.include({ queued: 0, failed: 2 });
    const { values } = await registry.getSingleMetric('gateway_recipients_unsent_total')!.get();
    expect(values.map(({ labels, value }) => [labels.reason, value])).to.deep.equal([['content_unreadable', 2]]);
  });
});
