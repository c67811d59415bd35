import type { ServerResponse } from 'node:http';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { claimDelivery, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { recordAttempt } from '@gateway/store/webhooks/webhook-attempts';
import { changeWebhook, pauseWebhook, readWebhook, resumeWebhook } from '@gateway/store/webhooks/webhooks';
import { expect } from 'chai';
import { ownerOf } from './support/owner-of.js';
import { toldOf } from './support/told-of.js';
import { useEndpoint } from './support/use-endpoint.js';

const HOUR_MS = 3_600_000;

describe('deliveries to a webhook', () => {
  const endpoint = useEndpoint();
  const write = async (count: number, each = 1) => {
    for (let n = 0; n < count; n += each) {
      await endpoint.write(...Array.from({ length: Math.min(each, count - n) }, (_, i) => n + i));
    }
  };
  const told = () => toldOf(endpoint);
  const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

  it('are in order, 500 changes in a request', async () => {
    await write(1_200, 50);
    expect(await endpoint.deliverAll()).to.equal('quiet');
    expect(endpoint.told).to.deep.equal(numbers(1_200));
    expect(endpoint.received.map((each) => each.numbers.length)).to.deep.equal([500, 500, 200]);
    await endpoint.write(1_200);
    await endpoint.deliverAll();
    expect(endpoint.told.at(-1)).to.equal(1_200);
  });

  it('are made again with the same id and bytes until there is a 2xx, also when more has happened meanwhile', async () => {
    const answers = [500, 302, 401, 204];
    endpoint.answer = () => answers.shift() ?? 204;
    await endpoint.write(0);
    for (let round = 0; round < 4; round++) {
      expect(await endpoint.deliver()).to.equal(round < 3 ? 'waiting' : 'more');
      expect(await endpoint.status()).to.equal(round < 3 ? 'failing' : 'active');
      expect(await endpoint.deliver(), 'before its time').to.equal(round < 3 ? 'waiting' : 'more');
      endpoint.nowMs += HOUR_MS;
      await endpoint.write(round + 1);
    }
    await endpoint.deliverAll();
    expect(new Set(endpoint.received.slice(0, 4).map((each) => each.id)).size).to.equal(1);
    expect(endpoint.told).to.deep.equal(numbers(5));
  });

  it('reach an endpoint that fails, resets and answers too late, in order, and none is lost', async () => {
    let seed = 7;
    endpoint.answer = (_request, res) => {
      seed = (seed * 16_807) % 2_147_483_647;
      if (seed % 10 < 3) return 500;
      if (seed % 10 === 3) return void res.destroy();
      return 200;
    };
    await write(200, 5);
    for (let round = 0; round < 200; round++) {
      if ((await endpoint.deliver()) === 'quiet') break;
      endpoint.nowMs += HOUR_MS / 60;
      if (round % 3 === 0) await endpoint.write(200 + round);
    }
    expect(endpoint.told.slice(0, 200)).to.deep.equal(numbers(200));
    expect(endpoint.told).to.deep.equal([...new Set(endpoint.told)].sort((one, other) => one - other));
  });

  for (const [moment, script, when] of [
    ['before the claim', 'claim-delivery', 'before'],
    ['after the claim', 'claim-delivery', 'after'],
    ['after the answer', 'settle-delivery', 'before'],
    ['after it was settled', 'settle-delivery', 'after'],
  ] as const) {
    it(`go on when the process dies ${moment}`, async () => {
      await write(3);
      const { store } = endpoint.space;
      const run: RunScript = async (name, keys, args) => {
        if (name === script && when === 'before') throw new Error('killed');
        const reply = await store.run(name, keys, args);
        if (name === script) throw new Error('killed');
        return reply;
      };
      const killed = await endpoint.deliver({ store: { ...store, run } }).then(String, (error: Error) => error.message);
      expect(killed).to.equal('killed');
      await endpoint.write(3);
      expect(await endpoint.deliver({ owner: ownerOf('process-2') }), 'while its session lasts').to.equal('taken');
      await endpoint.endSession();
      expect(await endpoint.deliverAll({ owner: ownerOf('process-2') })).to.equal('quiet');
      expect([...new Set(endpoint.told)]).to.deep.equal(numbers(4));
      // Told twice only when it is not known whether it was told.
      expect(endpoint.told.length).to.equal(moment === 'after the answer' ? 7 : 4);
    });
  }

  it('are not posted before replicas have what is posted: after a failover it comes under the same id', async () => {
    const { store } = endpoint.space;
    const stored = async () => store.redis.hget(workspaceKeys(store.space, 'main').webhook(endpoint.id), 'lane:prompt');
    let written: string | null = null;
    const confirmWrites = async () => {
      written = await stored();
      throw new Error('not confirmed');
    };
    await write(3);
    for (const attempt of ['of the claim', 'and when it is there already']) {
      await endpoint.deliver({ store: { ...store, confirmWrites } }).catch(() => {});
      expect(endpoint.received, attempt).to.deep.equal([]);
    }
    expect(written).to.include('"claim"');
    await endpoint.write(3);
    expect(await endpoint.deliverAll()).to.equal('quiet');
    expect(endpoint.told).to.deep.equal(numbers(4));
    expect(await stored(), 'and it is not claimed anew').to.not.include('"claim"');
  });

  it('are settled by one process only, if two believe to be it', async () => {
    await write(1);
    let answer: (() => void) | undefined;
    endpoint.answer = (_request, res) => {
      answer = () => void res.writeHead(500).end();
      return undefined;
    };
    const slow = endpoint.deliver();
    while (!answer) await new Promise(setImmediate);
    await endpoint.endSession();
    endpoint.answer = () => 204;
    expect(await endpoint.deliverAll({ owner: ownerOf('process-2') })).to.equal('quiet');
    answer();
    expect(await slow).to.equal('taken');
    expect(await endpoint.status()).to.equal('active');
  });

  it('are written down only by the process that delivers, even before another one has written anything', async () => {
    const { store } = endpoint.space;
    const take = async (processId: string) => {
      const taken = await takeWebhook(store, { workspace: 'main', id: endpoint.id }, ownerOf(processId));
      if (typeof taken === 'string') throw new Error(taken);
      return (cursor: string) =>
        claimDelivery(store, taken, { lane: 'prompt', state: { cursor }, nowMs: endpoint.nowMs });
    };
    const first = await take('process-1');
    await endpoint.endSession();
    const second = await take('process-2');
    const again = await take('process-2');
    expect([await first('1-0'), await second('2-0')]).to.deep.equal([false, true]);
    expect(await again('3-0'), 'what it believes is not so any more').to.equal(false);
  });

  it('end with a 410, and go on where they were when it is resumed', async () => {
    await write(2);
    endpoint.answer = () => 410;
    expect(await endpoint.deliver()).to.equal('waiting');
    expect([await endpoint.status(), await told()]).to.deep.equal(['disabled', ['webhook.disabled 410']]);
    expect(await endpoint.deliver()).to.equal('idle');
    endpoint.answer = () => 200;
    await resumeWebhook(endpoint.space.store, 'main', endpoint.id);
    await endpoint.deliverAll();
    expect(endpoint.told).to.deep.equal([0, 1]);
  });

  it('are made at once when it passes its test while it is failing', async () => {
    const { store } = endpoint.space;
    await endpoint.write(1);
    endpoint.answer = (_request, res) => void res.destroy();
    for (let failure = 0; failure < 4; failure++) {
      expect(await endpoint.deliver()).to.equal('waiting');
      endpoint.nowMs += failure < 3 ? HOUR_MS : 0;
    }
    endpoint.answer = () => 204;
    expect(await endpoint.deliver()).to.equal('waiting');
    const { revision } = (await readWebhook(store, 'main', endpoint.id))!;
    const attempt = { webhookId: 'evt_test', atMs: endpoint.nowMs, tookMs: 1, status: 204, error: null, answer: '' };
    const answered = { ...attempt, status: 500 };
    expect(await recordAttempt(store, 'main', endpoint.id, { attempt: answered })).to.equal('failing');
    expect(await endpoint.deliver(), 'it did not pass').to.equal('waiting');
    expect(await recordAttempt(store, 'main', endpoint.id, { attempt, verifiesRevision: revision })).to.equal(
      'failing',
    );
    await endpoint.deliverAll();
    expect(endpoint.told).to.deep.equal([1]);
    expect(await endpoint.status()).to.equal('active');
  });

  it('are not made while it is paused, and a pause is not ended by an answer', async () => {
    await write(2);
    let res: { end(): void } | undefined;
    endpoint.answer = (_request, response) => {
      res = response;
      return undefined;
    };
    const under = endpoint.deliver();
    while (!res) await new Promise(setImmediate);
    await pauseWebhook(endpoint.space.store, 'main', endpoint.id);
    res.end();
    await under;
    expect(await endpoint.status()).to.equal('paused');
    expect(await endpoint.deliver()).to.equal('idle');
    expect(endpoint.received).to.have.length(1);
  });

  /** It has another URL, of the same server, which has passed its test. */
  const moveEndpoint = async () => {
    const { store } = endpoint.space;
    const target = { headers: { 'x-moved': '1' } };
    const { revision } = (await changeWebhook(store, 'main', endpoint.id, { target }))!;
    const attempt = { webhookId: 'evt_0', atMs: 0, tookMs: 0, status: 200, error: null, answer: '' };
    expect(await recordAttempt(store, 'main', endpoint.id, { attempt, verifiesRevision: revision })).to.equal('active');
  };

  it('are begun by none who has it as it was before a change: to another URL, or with what it shall not know', async () => {
    const { store } = endpoint.space;
    const taken = await takeWebhook(store, { workspace: 'main', id: endpoint.id }, ownerOf('process-1'));
    if (typeof taken === 'string') throw new Error(taken);
    const claim = (to: string) =>
      claimDelivery(store, taken, { lane: 'prompt', state: { cursor: '1-0', claim: { to, refusals: 0 } }, nowMs: 1 });
    expect(await claim('1-1')).to.equal(true);
    await changeWebhook(store, 'main', endpoint.id, { settings: { numbers: 'masked' } });
    expect(await claim('1-2')).to.equal(false);
  });

  it('are begun by none who took it before an answer to another request disabled it', async () => {
    const { store } = endpoint.space;
    const taken = await takeWebhook(store, { workspace: 'main', id: endpoint.id }, ownerOf('process-1'));
    if (typeof taken === 'string') throw new Error(taken);
    await write(1);
    endpoint.answer = () => 410;
    await endpoint.deliver();
    expect(await endpoint.status()).to.equal('disabled');
    const claim = { to: '1-1', refusals: 0 };
    const next = { lane: 'lists' as const, state: { cursor: '1-0', claim }, nowMs: 1 };
    expect(await claimDelivery(store, taken, next)).to.equal(false);
  });

  it('to where it was before say nothing of where it is now', async () => {
    await write(1);
    let res: ServerResponse | undefined;
    endpoint.answer = (_request, response) => {
      res = response;
      return undefined;
    };
    const under = endpoint.deliver();
    while (!res) await new Promise(setImmediate);
    await moveEndpoint();
    res.writeHead(410).end();
    await under;
    expect([await endpoint.status(), await told()]).to.deep.equal(['active', []]);
    endpoint.answer = () => 204;
    await endpoint.deliverAll();
    expect(endpoint.told).to.deep.equal([0]);
  });

  it('do not wait at another URL for what the one before has failed', async () => {
    await write(1);
    endpoint.answer = () => 503;
    for (let hour = 0; hour < 5; hour++) {
      endpoint.nowMs += HOUR_MS;
      await endpoint.deliver();
    }
    // Not the quarter of an hour of one that has failed for long.
    endpoint.nowMs += 15_000;
    expect(await endpoint.deliver()).to.equal('waiting');
    await moveEndpoint();
    endpoint.answer = () => 204;
    await endpoint.deliverAll();
    expect(endpoint.told).to.deep.equal([0]);
  });

  it('are halved for an endpoint to which they are too large, which is no failure', async () => {
    await write(400, 10);
    endpoint.answer = () => (endpoint.received.at(-1)!.numbers.length > 60 ? 413 : 200);
    expect(await endpoint.deliverAll()).to.equal('quiet');
    expect(endpoint.told).to.deep.equal(numbers(400));
    expect(await endpoint.status()).to.equal('active');
  });

  it('that are too large do not tell of the end of an outage, as a proxy may say so: what is taken does', async () => {
    await write(40, 10);
    for (const status of [503, 503, 413, 204]) {
      endpoint.answer = () => status;
      await endpoint.deliver();
      endpoint.nowMs += HOUR_MS;
    }
    expect(await told()).to.deep.equal(['webhook.failing 503', 'webhook.recovered 204']);
    await endpoint.deliverAll();
    expect(endpoint.told).to.deep.equal(numbers(40));
  });
});
