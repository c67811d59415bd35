import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { takeWebhook, warnOfWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { changeWebhook, pauseWebhook, resumeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { ownerOf } from './support/owner-of.js';
import { toldOf } from './support/told-of.js';
import { useEndpoint } from './support/use-endpoint.js';

const HOUR_MS = 3_600_000;

describe('failures of a webhook', () => {
  const endpoint = useEndpoint();
  const told = () => toldOf(endpoint);

  it('that fail are told in the log after 15 minutes and after 24 hours, and so is their end, once each', async () => {
    const { store } = endpoint.space;
    // The reply to each step is lost.
    const run: RunScript = async (name, keys, args) => {
      await store.run(name, keys, args);
      return store.run(name, keys, args);
    };
    await endpoint.write(0);
    const attemptAfter = async (ms: number, status: number) => {
      endpoint.nowMs += ms;
      endpoint.answer = () => status;
      await endpoint.deliver({ store: { ...store, run } });
      return told();
    };
    expect(await attemptAfter(0, 503)).to.deep.equal([]);
    expect(await attemptAfter(HOUR_MS / 5, 503)).to.deep.equal([]);
    expect(await attemptAfter(HOUR_MS / 5, 503)).to.deep.equal(['webhook.failing 503']);
    expect(await attemptAfter(HOUR_MS, 500)).to.have.length(1);
    expect(await attemptAfter(23 * HOUR_MS, 500)).to.deep.equal(['webhook.failing 503', 'webhook.failing 500']);
    expect((await attemptAfter(HOUR_MS, 200)).at(-1)).to.equal('webhook.recovered 200');
    await endpoint.write(1);
    expect(await attemptAfter(HOUR_MS, 200)).to.have.length(3);
  });

  it('that fail are told at that time, though their next request is due later, and once', async () => {
    const { store } = endpoint.space;
    const run: RunScript = async (name, keys, args) => {
      await store.run(name, keys, args);
      return store.run(name, keys, args);
    };
    endpoint.answer = (_request, res) => void res.writeHead(429, { 'retry-after': '3600' }).end();
    await endpoint.write(0);
    const beginMs = endpoint.nowMs;
    const lookAt = async (ms: number) => {
      endpoint.nowMs = beginMs + ms;
      expect(await endpoint.deliver({ store: { ...store, run } })).to.equal('waiting');
      return told();
    };
    expect(await lookAt(0)).to.deep.equal([]);
    const { length } = endpoint.received;
    expect(await lookAt(HOUR_MS / 4 - 1)).to.deep.equal([]);
    expect(await lookAt(HOUR_MS / 4)).to.deep.equal(['webhook.failing 429']);
    expect(await lookAt(HOUR_MS / 2)).to.have.length(1);
    expect(endpoint.received).to.have.length(length);
    for (let hour = 1; hour < 24; hour++) expect(await lookAt(hour * HOUR_MS + 1)).to.have.length(1);
    const warnings = ['webhook.failing 429', 'webhook.failing 429'];
    expect(await lookAt(24 * HOUR_MS)).to.deep.equal(warnings);
    await pauseWebhook(store, 'main', endpoint.id);
    await resumeWebhook(store, 'main', endpoint.id);
    endpoint.answer = () => 200;
    endpoint.nowMs += HOUR_MS;
    await endpoint.deliverAll();
    expect(await told()).to.deep.equal([...warnings, 'webhook.recovered 200']);
  });

  it('are told as failing by the process that delivers alone, and as the endpoint is', async () => {
    const { store } = endpoint.space;
    await endpoint.write(0);
    endpoint.answer = () => 503;
    await endpoint.deliver();
    const take = async (processId: string) => {
      const taken = await takeWebhook(store, { workspace: 'main', id: endpoint.id }, ownerOf(processId));
      if (typeof taken === 'string') throw new Error(taken);
      const nowMs = endpoint.nowMs + HOUR_MS;
      return (told = 1) => warnOfWebhook(store, taken, { breaker: { ...taken.breaker, told }, last: undefined, nowMs });
    };
    await endpoint.endSession();
    const first = await take('process-1');
    await endpoint.endSession();
    const [second, stale] = [await take('process-2'), await take('process-2')];
    expect([await first(), await second(), await stale(2)]).to.deep.equal([false, true, false]);
    const [third, changed] = [await take('process-2'), await take('process-2')];
    await pauseWebhook(store, 'main', endpoint.id);
    expect(await third(2)).to.equal(false);
    await resumeWebhook(store, 'main', endpoint.id);
    expect(await changed(2)).to.equal(false);
    expect(await told()).to.deep.equal(['webhook.failing null']);
  });

  const attemptAfter = async (ms: number, status: number) => {
    endpoint.nowMs += ms;
    endpoint.answer = () => status;
    await endpoint.deliverAll();
    return told();
  };
  const changes: Record<string, () => Promise<unknown>> = {
    'is paused and resumed': async () => {
      await pauseWebhook(endpoint.space.store, 'main', endpoint.id);
      await resumeWebhook(endpoint.space.store, 'main', endpoint.id);
    },
    'gets other headers and passes its test': async () => {
      const { space, nowMs } = endpoint;
      const { store } = space;
      const changed = await changeWebhook(store, 'main', endpoint.id, { target: { headers: { 'x-a': `${nowMs}` } } });
      const attempt = { webhookId: 'evt_1', atMs: nowMs, tookMs: 0, status: 200, error: null, answer: '' };
      await recordAttempt(store, 'main', endpoint.id, { attempt, verifiesRevision: changed!.revision });
    },
  };
  for (const [what, change] of Object.entries(changes)) {
    it(`tell of the end of failures that were told, once, also where it ${what} in between; and nothing where none were`, async () => {
      await endpoint.write(0);
      await attemptAfter(0, 503);
      await change();
      expect(await attemptAfter(HOUR_MS / 10, 200)).to.deep.equal([]);
      await endpoint.write(1);
      await attemptAfter(0, 503);
      expect(await attemptAfter(HOUR_MS, 503)).to.deep.equal(['webhook.failing 503']);
      await change();
      expect(await attemptAfter(HOUR_MS / 10, 200)).to.deep.equal(['webhook.failing 503', 'webhook.recovered 200']);
      await endpoint.write(2);
      expect(await attemptAfter(HOUR_MS / 10, 200)).to.have.length(2);
    });
  }

  it('tell of the end of failures that disabled it, once it is resumed; new ones have 72 hours and both warnings of their own', async () => {
    await endpoint.write(0);
    expect(await attemptAfter(0, 410)).to.deep.equal(['webhook.disabled 410']);
    await resumeWebhook(endpoint.space.store, 'main', endpoint.id);
    const before = ['webhook.disabled 410'];
    for (let hours = 0; hours < 72; hours += 4) {
      await attemptAfter(4 * HOUR_MS, 500);
      expect(await endpoint.status()).to.equal('failing');
    }
    expect(await told()).to.deep.equal([...before, 'webhook.failing 500', 'webhook.failing 500']);
    before.push('webhook.failing 500', 'webhook.failing 500', 'webhook.disabled 500');
    expect(await attemptAfter(4 * HOUR_MS, 500)).to.deep.equal(before);
    await resumeWebhook(endpoint.space.store, 'main', endpoint.id);
    expect(await attemptAfter(HOUR_MS, 200)).to.deep.equal([...before, 'webhook.recovered 200']);
    await endpoint.write(1);
    expect(await attemptAfter(HOUR_MS, 200)).to.have.length(before.length + 1);
  });
});
