import { randomBytes } from 'node:crypto';
import type { WebhookPage, WebhookView } from '@gateway/contracts/console/webhook-views';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { listAudit } from '@gateway/store/console/audit';
import { createStore } from '@gateway/store/core/store';
import { expect } from 'chai';
import { openStream } from './support/live-stream.js';
import { makeWebhook } from './support/make-webhook.js';
import type { Browser } from './support/test-dashboard.js';
import { useWebhookStage } from './support/use-webhook-stage.js';

const SECRET_HEADER = 'Basic c2VjcmV0LWhlYWRlcg==';

describe('webhooks in the console', () => {
  const stage = useWebhookStage();
  let operator: Browser;
  let viewer: Browser;
  before(async () => {
    operator = await stage.dashboard.signIn('operator');
    viewer = await stage.dashboard.signIn('viewer');
  });

  async function create(options: object = {}): Promise<{ path: string; id: string; secret: string }> {
    const { status, body } = await operator.post('/webhooks', { url: stage.url, ...options });
    expect(status, JSON.stringify(body)).to.equal(201);
    return { ...(body as { id: string; secret: string }), path: `/webhooks/${body.id}` };
  }
  const pageOf = async (browser: Browser, path: string) => (await browser.get(path)).body.page as WebhookPage;

  it('are made, tested, changed, paused, resumed, rotated and deleted through the API, and each of it is in the audit log', async () => {
    const { path, id, secret } = await create({ description: 'shop', headers: { Authorization: SECRET_HEADER } });
    expect(secret).to.match(/^whsec_/);
    stage.status = 500;
    const failed = (await operator.post(`${path}/test`)).body.result;
    expect(failed).to.include({ delivered: false, status: 500, answer: 'thanks', webhookStatus: 'unverified' });
    stage.status = 204;
    expect((await operator.post(`${path}/test`)).body.result).to.include({ delivered: true, webhookStatus: 'active' });
    await operator.post(`${path}/change`, { types: ['send.finished'], numbers: 'masked', content: 'none' });
    await operator.post(`${path}/pause`);
    expect((await pageOf(operator, path)).webhook.status).to.equal('paused');
    await operator.post(`${path}/resume`);
    const rotated = await operator.post(`${path}/rotate`, { overlapHours: 1 });
    expect(rotated.body.secret)
      .to.match(/^whsec_/)
      .and.not.equal(secret);
    await operator.post(`${path}/test`);
    expect(stage.received.at(-1)!.headers['webhook-signature']!.split(' ')).to.have.length(2);

    const { webhook, deliveries } = await pageOf(operator, path);
    expect(webhook).to.deep.include({ id, status: 'active', types: ['send.finished'], numbers: 'masked' });
    expect(webhook.rotatedUntilMs).to.be.above(Date.now());
    expect(webhook.lastSuccessAtMs).to.equal(deliveries[0]!.atMs);
    expect(deliveries.map(({ status, attempt }) => [status, attempt])).to.deep.equal([
      [204, 1],
      [204, 1],
      [500, 1],
    ]);
    expect((await operator.post(`${path}/delete`)).status).to.equal(200);
    expect((await operator.get(path)).body.code).to.equal('not_found');
    const log = (await listAudit(stage.space.store)).filter(({ target }) => target === id);
    expect(log.every(({ user }) => user === 'operator')).to.equal(true);
    expect(log.map(({ action }) => action).reverse()).to.deep.equal([
      ...['webhook.created', 'webhook.tested', 'webhook.tested', 'webhook.changed', 'webhook.paused'],
      ...['webhook.resumed', 'webhook.secret_rotated', 'webhook.tested', 'webhook.deleted'],
    ]);
  });

  it('show no secret and no value of a header to anyone, and neither path nor answer to viewers, who change nothing', async () => {
    const { path, secret } = await create({ headers: { 'X-Key': SECRET_HEADER } });
    stage.status = 200;
    await operator.post(`${path}/test`);
    for (const browser of [operator, viewer]) {
      for (const read of ['/webhooks', path]) {
        const { text } = await browser.get(read);
        expect(text).to.include(stage.host).and.include('X-Key');
        expect(text).not.to.include(secret).and.not.include(SECRET_HEADER);
        expect(text.includes('a-token-in-the-path')).to.equal(browser === operator);
      }
    }
    expect((await viewer.get(path)).text).not.to.include('thanks');
    const live = await openStream(viewer, `webhooks,webhook.${path.split('/')[2]}`);
    await live.wait<WebhookView[]>('webhooks', (all) => all.length > 0);
    live.close();
    expect(JSON.stringify(live.events)).not.to.include('a-token-in-the-path').and.not.include('thanks');
    for (const what of ['change', 'test', 'pause', 'resume', 'rotate', 'delete']) {
      expect((await viewer.post(`${path}/${what}`, what === 'rotate' ? { overlapHours: 1 } : {})).status).to.equal(403);
    }
    expect((await viewer.post('/webhooks', { url: stage.url })).status).to.equal(403);
  });

  it('say since when an endpoint fails, until it is resumed', async () => {
    const id = await makeWebhook(stage.space.store, { url: stage.url, answers: [200, 500, 500], isFailing: true });
    const path = `/webhooks/${id}`;
    const { webhook, deliveries } = await pageOf(viewer, path);
    expect(webhook.status).to.equal('failing');
    expect(webhook.failingSinceMs).to.be.below(Date.now());
    expect(webhook.lastSuccessAtMs).to.equal(deliveries[2]!.atMs);
    expect(deliveries.map(({ attempt }) => attempt)).to.deep.equal([2, 1, 1]);
    await operator.post(`${path}/pause`);
    await operator.post(`${path}/resume`);
    expect((await pageOf(viewer, path)).webhook).not.to.have.property('failingSinceMs');
  });

  it('show what an endpoint refuses, and have it sent again', async () => {
    const id = await makeWebhook(stage.space.store, { url: stage.url, answers: [200] });
    const path = `/webhooks/${id}`;
    const keys = workspaceKeys(stage.space.store.space, 'main');
    const lines = [
      { failures: 3, lastStatus: 422 },
      { entry: '1-1', id: 'evt_a', type: 'message.received' },
    ];
    await stage.space.store.redis.hset(
      keys.webhookParked(id),
      'a',
      lines.map((line) => JSON.stringify(line)).join('\n'),
    );
    await stage.space.store.redis.zadd(keys.webhookParkedSince(id), 1_000, 'a');
    const { parked } = await pageOf(viewer, path);
    expect(parked).to.have.length(1);
    expect(parked[0]).to.include({ id: 'evt_a', attempts: 3, lastStatus: 422, sinceMs: 1_000 });
    expect((await viewer.post(`${path}/replay`, { ids: ['evt_a'] })).status).to.equal(403);
    const again = await operator.post(`${path}/replay`, { ids: ['evt_a', 'evt_none'] });
    expect([again.status, again.body.unknown]).to.deep.equal([200, ['evt_none']]);
    const [{ action, target } = {}] = await listAudit(stage.space.store);
    expect([action, target]).to.deep.equal(['webhook.replayed', id]);
  });

  it('are shown and deleted where they are sealed with a key that is lost, beside others', async () => {
    const { store } = stage.space;
    const keyRings = { credentials: [], contents: [{ id: 'lost', key: randomBytes(32) }] };
    const lost = createStore({ redis: store.redis, space: store.space, keyRings });
    const id = await makeWebhook(lost, { url: stage.url, answers: [200] });
    const views = async () => (await viewer.get('/webhooks')).body.webhooks as WebhookView[];
    const view = (await views()).find((each) => each.id === id)!;
    expect(view).to.include({ status: 'active' }).and.not.have.any.keys('host', 'url', 'signature');
    const { webhook, deliveries } = await pageOf(operator, `/webhooks/${id}`);
    expect([webhook, deliveries]).to.deep.equal([view, []]);
    expect((await operator.post(`/webhooks/${id}/delete`)).status).to.equal(200);
    expect((await views()).map((each) => each.id)).to.not.include(id);
  });

  it('are told again what happened in a time that is chosen', async () => {
    const id = await makeWebhook(stage.space.store, { url: stage.url, answers: [200] });
    const replay = (json: object) => operator.post(`/webhooks/${id}/replay`, json);
    const after = new Date(Date.now() - 3_600_000).toISOString();
    expect((await replay({ after, before: new Date().toISOString() })).status).to.equal(200);
    const { redis, space } = stage.space.store;
    const [replayed] = await redis.lrange(workspaceKeys(space, 'main').webhookReplays(id), 0, -1);
    expect(replayed).to.include(String(Date.parse(after)));
    const refused = [await replay({ after: 'yesterday' }), await replay({ before: after }), await replay({})];
    expect(refused.map(({ status, body }) => [status, body.code])).to.deep.equal(
      refused.map(() => [400, 'invalid_request']),
    );
  });

  it('tell several devices, in an order and a time that are chosen, with a key that is no secret', async () => {
    const wishes = { devices: ['one', 'two'], order: 'strict', gatherSeconds: 5, concurrency: 3 };
    const { path, secret } = await create({ ...wishes, signature: 'v1a' });
    expect(secret).to.match(/^whpk_/);
    expect((await pageOf(viewer, path)).webhook).to.deep.include({ ...wishes, signature: 'v1a' });
    await operator.post(`${path}/change`, { order: 'recipient', gatherSeconds: 60, concurrency: 1 });
    expect((await pageOf(viewer, path)).webhook).to.include({ order: 'recipient', gatherSeconds: 60, concurrency: 1 });
  });

  it('hand on what the API refuses, with the field it is about', async () => {
    const { status, body } = await operator.post('/webhooks', { url: 'http://169.254.169.254/' });
    expect([status, body.code, body.details[0].path]).to.deep.equal([400, 'invalid_request', ['url']]);
    expect(body.requestId).to.be.a('string');
    const odd = await operator.post('/webhooks', { url: stage.url, headers: { 'webhook-id': 'x' } });
    expect([odd.status, odd.body.details[0].path[0]]).to.deep.equal([400, 'headers']);
    expect((await operator.post('/webhooks/..%2Fopt-outs/delete')).status).to.equal(404);
  });
});
