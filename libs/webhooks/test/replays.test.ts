import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { WEBHOOK_LIMITS } from '@gateway/contracts/webhooks/webhook';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { listParked, type ParkedPlace } from '@gateway/store/webhooks/delivering/parked/parked';
import { replayWebhook } from '@gateway/store/webhooks/delivering/replays';
import { listAttempts } from '@gateway/store/webhooks/webhook-attempts';
import { deleteWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { ownerOf } from './support/owner-of.js';
import { useEndpoint } from './support/use-endpoint.js';

const HOUR_MS = 3_600_000;

describe('what is told to a webhook once more', () => {
  const endpoint = useEndpoint();
  const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, n) => from + n);
  const place = () => ({ workspace: 'main', id: endpoint.id });
  const replay = (wanted: Parameters<typeof replayWebhook>[2]) =>
    replayWebhook(endpoint.space.store, place(), wanted, endpoint.nowMs);
  const parked = (options: { after?: ParkedPlace; limit: number }) =>
    listParked(endpoint.space.store, place(), options);
  const ids = () => endpoint.received.map(({ id }) => id);

  it('is a request among the last, with the same id and the same bytes, wherever the process is killed', async () => {
    for (const from of [0, 10, 20]) {
      await endpoint.write(...numbers(10, from));
      await endpoint.deliverAll();
    }
    const [, second] = ids();
    const attempts = await listAttempts(endpoint.space.store, 'main', endpoint.id, 9);
    expect(attempts.map(({ webhookId }) => webhookId)).to.include(second);
    const { store } = endpoint.space;
    for (const [step, when] of [
      ['claim-delivery', 'before'],
      ['settle-delivery', 'before'],
      ['settle-delivery', 'after'],
      ['claim-delivery', 'after'],
    ] as const) {
      const before = ids().length;
      expect(await replay({ ids: [second!, 'evt_unknown'] })).to.deep.equal({ unknown: ['evt_unknown'] });
      const run: RunScript = async (name, keys, args) => {
        if (name === step && when === 'before') throw new Error('killed');
        const reply = await store.run(name, keys, args);
        if (name === step) throw new Error('killed');
        return reply;
      };
      const killed = await endpoint.deliverAll({ store: { ...store, run } }).catch((error: Error) => error.message);
      expect(killed, `${step} ${when}`).to.equal('killed');
      await endpoint.endSession();
      expect(await endpoint.deliverAll({ owner: ownerOf(`process-${step}-${when}`) })).to.equal('quiet');
      await endpoint.endSession();
      expect(new Set(ids().slice(before))).to.deep.equal(new Set([second]));
      expect(ids().length - before, 'twice only if the answer was not written down').to.equal(
        step === 'settle-delivery' && when === 'before' ? 2 : 1,
      );
    }
  });

  it('is what was put aside, which is listed page by page', async () => {
    endpoint.keyOf = (number) => `k${100 + (number % 100)}`;
    const bad = new Set([3, 4, 5, 6, 7, 103]);
    endpoint.answer = () => (endpoint.received.at(-1)!.numbers.some((number) => bad.has(number)) ? 422 : 204);
    await endpoint.write(...numbers(20));
    await endpoint.write(20);
    for (let second = 0; second < 60; second += 5) {
      await endpoint.deliverAll();
      endpoint.nowMs += 5_000;
    }
    await endpoint.write(103);
    await endpoint.deliverAll();
    const first = await parked({ limit: 3 });
    const rest = await parked({ after: first.at(-1)!, limit: 3 });
    const all = [...first, ...rest];
    expect(all.map(({ events }) => events.map(({ id }) => id).join())).to.have.members(['3,103', '4', '5', '6', '7']);
    expect(await parked({ after: rest.at(-1)!, limit: 3 })).to.deep.equal([]);
    for (const { clock, dueMs } of all) {
      expect(clock).to.include({ lastStatus: 422 });
      expect(dueMs).to.be.above(endpoint.nowMs - 60_000);
    }
    // 72 hours later nothing is tried by itself.
    for (let hour = 0; hour < 80; hour++) {
      endpoint.nowMs += HOUR_MS;
      await endpoint.deliverAll();
    }
    expect((await parked({ limit: 9 })).map(({ dueMs }) => dueMs)).to.deep.equal([null, null, null, null, null]);
    bad.clear();
    await endpoint.deliverAll();
    expect(endpoint.told).not.to.include(3);
    expect(await replay({ ids: ['3', '7'] })).to.deep.equal({ unknown: [] });
    const clocks = (await parked({ limit: 9 })).map(
      ({ events, clock }) => [events[0]!.id, clock.failures ?? 0] as const,
    );
    expect(clocks.flatMap(([id, failures]) => (failures === 0 ? id : []))).to.have.members(['3', '7']);
    await endpoint.deliverAll();
    expect(endpoint.told.filter((number) => [3, 7, 103].includes(number)).sort()).to.deep.equal([103, 3, 7]);
    expect(endpoint.told.indexOf(3)).to.be.below(endpoint.told.indexOf(103));
    expect((await parked({ limit: 9 })).map(({ events }) => events[0]!.id).sort()).to.deep.equal(['4', '5', '6']);
    expect(await endpoint.status()).to.equal('active');
  });

  it('is over at once where there is nothing between the two places, and holds up no other', async () => {
    await endpoint.write(...numbers(3));
    await endpoint.deliverAll();
    const { store, prefix } = endpoint.space;
    const [[entry] = []] = await store.redis.xrange(`${prefix}:log`, '-', '+');
    const key = workspaceKeys(store.space, 'main').webhookReplays(endpoint.id);
    const empty = { id: '2_1', after: entry, to: entry };
    const all = { id: '1_2', after: '0-0', to: entry };
    for (const each of [empty, all]) await store.redis.rpush(key, JSON.stringify(each));
    const outcomes: string[] = [];
    while (outcomes.at(-1) !== 'quiet' && outcomes.length < 20) outcomes.push(await endpoint.deliver());
    expect(outcomes.at(-1)).to.equal('quiet');
    expect(endpoint.told).to.deep.equal([...numbers(3), ...numbers(3)]);
    expect(await store.redis.llen(key)).to.equal(0);
  });

  it('takes one place of those that wait for it, also when the step comes again', async () => {
    const { store } = endpoint.space;
    const run: RunScript = async (name, keys, args) => {
      await store.run(name, keys, args);
      return store.run(name, keys, args);
    };
    const key = workspaceKeys(store.space, 'main').webhookReplays(endpoint.id);
    for (const to of ['5-0', '9-0']) await store.redis.rpush(key, JSON.stringify({ id: to, after: to, to }));
    expect(await endpoint.deliver({ store: { ...store, run } })).to.equal('more');
    expect(await store.redis.lrange(key, '0', '-1')).to.deep.equal(['{"id":"9-0","after":"9-0","to":"9-0"}']);
  });

  it('is told whatever the failures before were, and takes from them only how often what is put aside has failed', async () => {
    const { redis, space } = endpoint.space.store;
    const webhook = workspaceKeys(space, 'main').webhook(endpoint.id);
    const aside = { failures: 4, nextAttemptMs: endpoint.nowMs + HOUR_MS };
    for (const breaker of [
      { aside },
      { aside, failedReplay: true },
      { failedReplay: true, aside },
      { failures: 1, sinceMs: endpoint.nowMs, aside, failedReplay: true },
      { failedReplay: true },
      {},
    ]) {
      await redis.hset(webhook, 'breaker', JSON.stringify(breaker));
      await replay({ afterMs: 5, beforeMs: 9 });
      const { aside: _, ...others } = breaker as { aside?: object };
      expect(JSON.parse((await redis.hget(webhook, 'breaker'))!)).to.deep.equal(others);
    }
    expect(await endpoint.deliverAll()).to.equal('quiet');
  });

  it('is no time that ends before it begins', async () => {
    for (const beforeMs of [5, 4]) expect(await replay({ afterMs: 5, beforeMs })).to.equal('empty');
    expect(await endpoint.deliverAll()).to.equal('quiet');
  });

  it('is asked for a hundred times at most, and not of an endpoint that is gone', async () => {
    const { store } = endpoint.space;
    for (let n = 1; n <= WEBHOOK_LIMITS.maxReplays; n++) await replay({ afterMs: n, beforeMs: n + 1 });
    expect(await replay({ afterMs: 1, beforeMs: 2 }), 'the same again').to.deep.equal({ unknown: [] });
    const { webhookReplays } = workspaceKeys(store.space, 'main');
    expect(await store.redis.llen(webhookReplays(endpoint.id))).to.equal(WEBHOOK_LIMITS.maxReplays);
    expect(await replay({ afterMs: 1, beforeMs: 3 })).to.equal('full');
    expect(await endpoint.deliverAll()).to.equal('quiet');
    expect(await replay({ afterMs: 1, beforeMs: 3 })).to.deep.equal({ unknown: [] });
    await deleteWebhook(store, 'main', endpoint.id);
    expect(await replay({ afterMs: 1, beforeMs: 2 })).to.equal('gone');
    expect(await store.redis.keys(`${endpoint.space.prefix}:*${endpoint.id}*`)).to.deep.equal([]);
  });
});
