import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { DeliverDeps } from '@gateway/webhooks/work';
import { expect } from 'chai';
import { useEndpoint } from './support/use-endpoint.js';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

describe('what waits for its time by a clock that is set back', () => {
  const endpoint = useEndpoint();
  /** Of one process. */
  let known: DeliverDeps['known'];
  const deliver = () => endpoint.deliverAll({ known });
  beforeEach(() => {
    known = {};
  });
  const state = async (field: string) => {
    const { redis, space } = endpoint.space.store;
    return JSON.parse((await redis.hget(workspaceKeys(space, 'main').webhook(endpoint.id), field)) ?? '{}');
  };
  const run = async (seconds: number, step: number) => {
    for (let second = 0; second < seconds; second += step) {
      await deliver();
      endpoint.nowMs += step * SECOND_MS;
    }
  };
  /** Of ten the fifth is refused, and put aside. */
  const refuseFifth = async () => {
    endpoint.keyOf = (number) => `k${number}`;
    endpoint.answer = () => (endpoint.received.at(-1)!.numbers.includes(5) ? 422 : 204);
    await endpoint.write(...Array.from({ length: 10 }, (_, n) => n));
    await endpoint.write(100);
    await run(600, 10);
    expect(endpoint.told).to.have.members([0, 1, 2, 3, 4, 6, 7, 8, 9, 100]);
  };

  it('is posted at once to an endpoint that failed', async () => {
    const startMs = endpoint.nowMs;
    endpoint.nowMs += 6 * HOUR_MS;
    endpoint.answer = () => 500;
    await endpoint.write(1);
    await deliver();
    expect((await state('breaker')).nextAttemptMs).to.equal(endpoint.nowMs + 5 * SECOND_MS);
    endpoint.nowMs = startMs;
    endpoint.answer = () => 204;
    await deliver();
    expect(endpoint.told).to.deep.equal([1]);
  });

  it('is posted at once where one request of a lane has a pause of its own', async () => {
    const startMs = endpoint.nowMs;
    endpoint.nowMs += 6 * HOUR_MS;
    endpoint.answer = () => 500;
    await endpoint.write(1);
    await deliver();
    const { redis, space } = endpoint.space.store;
    // Something else was taken since.
    await redis.hset(workspaceKeys(space, 'main').webhook(endpoint.id), { breaker: '{}', status: 'active' });
    expect((await state('lane:prompt')).claim.notBeforeMs).to.equal(endpoint.nowMs + 5 * SECOND_MS);
    endpoint.nowMs = startMs;
    endpoint.answer = () => 204;
    await deliver();
    expect(endpoint.told).to.deep.equal([1]);
  });

  it('is posted at once where it was put aside', async () => {
    const startMs = endpoint.nowMs;
    endpoint.nowMs += 6 * HOUR_MS;
    await refuseFifth();
    const before = endpoint.received.length;
    await deliver();
    expect(endpoint.received, 'its time has not come').to.have.length(before);
    endpoint.nowMs = startMs;
    endpoint.answer = () => 204;
    await deliver();
    expect(endpoint.told).to.include(5);
  });

  it('is posted ten minutes later where another process put it aside', async () => {
    await refuseFifth();
    const startMs = endpoint.nowMs;
    const own = known;
    known = {};
    endpoint.nowMs += 6 * HOUR_MS;
    await deliver();
    known = own;
    endpoint.nowMs = startMs;
    endpoint.answer = () => 204;
    await run(660, 60);
    expect(endpoint.told).to.include(5);
  });

  it('is posted at once where all that is put aside has one pause', async () => {
    const startMs = endpoint.nowMs;
    endpoint.nowMs += 6 * HOUR_MS;
    await refuseFifth();
    await run(3 * 3_600, 600);
    expect((await state('breaker')).aside.nextAttemptMs).to.be.above(startMs + 8 * HOUR_MS);
    endpoint.nowMs = startMs;
    endpoint.answer = () => 204;
    await deliver();
    expect(endpoint.told).to.include(5);
  });

  it('stays where it was given up after 72 hours', async () => {
    await refuseFifth();
    await run(73 * 3_600, 900);
    const before = endpoint.received.length;
    endpoint.nowMs -= 6 * HOUR_MS;
    await deliver();
    expect(endpoint.received).to.have.length(before);
  });
});
