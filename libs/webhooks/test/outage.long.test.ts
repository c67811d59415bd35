import { expect } from 'chai';
import { useEndpoint } from './support/use-endpoint.js';

const HOUR_MS = 3_600_000;
const CHANGES = 300_000;
const MAX_SECONDS = 120;

describe('a webhook that was dead for a day', function () {
  this.timeout(180_000);
  const endpoint = useEndpoint();

  it('had 110 attempts at most, and then gets 300,000 changes within two minutes, in order', async () => {
    for (let from = 0; from < CHANGES; from += 500) {
      await endpoint.write(...Array.from({ length: 500 }, (_, i) => from + i));
    }
    endpoint.answer = () => 503;
    const endMs = endpoint.nowMs + 24 * HOUR_MS;
    const key = `${endpoint.space.prefix}:{main}:webhook:${endpoint.id}`;
    while (endpoint.nowMs < endMs) {
      expect(await endpoint.deliver()).to.equal('waiting');
      endpoint.nowMs = JSON.parse((await endpoint.space.store.redis.hget(key, 'breaker'))!).nextAttemptMs;
    }
    expect(endpoint.received.length).to.be.within(90, 110);
    expect(new Set(endpoint.received.map(({ id }) => id)).size).to.equal(1);
    endpoint.answer = () => 200;
    const startedAt = performance.now();
    await endpoint.deliverAll();
    expect(performance.now() - startedAt).to.be.below(MAX_SECONDS * 1000);
    expect(endpoint.told).to.have.length(CHANGES);
    expect(endpoint.told.every((number, i) => number === i)).to.equal(true);
  });
});
