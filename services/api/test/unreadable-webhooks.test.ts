import { randomBytes } from 'node:crypto';
import { createStore } from '@gateway/store/core/store';
import { createActiveWebhook } from '@gateway/testkit/webhooks/create-webhook';
import { expect } from 'chai';
import { useTestApi } from './support/use-test-api.js';

describe('webhook endpoints that are sealed with a key that is lost', () => {
  const { space, api } = useTestApi({ once: true });

  it('are shown without what is sealed, and deleted; nothing else is done with them', async () => {
    const keyRings = { credentials: [], contents: [{ id: 'lost', key: randomBytes(32) }] };
    const lost = createStore({ redis: space.store.redis, space: space.store.space, keyRings });
    const id = await createActiveWebhook(lost, 'https://example.com/hook');
    const other = await createActiveWebhook(space.store, 'https://example.org/hook');
    const token = (await api.newToken({ scopes: ['webhooks'] })).value;
    const call = (method: string, path: string, json?: object) =>
      api.call(method, `/webhooks${path}`, { token, ...(json && { json }) });
    const { status, body } = await call('GET', '');
    const listed = body.webhooks as { webhookId: string; reason: string | null; url: string | null }[];
    expect([status, listed.map(({ webhookId, reason, url }) => [webhookId, reason, url])]).to.deep.equal([
      200,
      [
        [id, 'keys_unreadable', null],
        [other, null, 'https://example.org/hook'],
      ],
    ]);
    const shown = await call('GET', `/${id}`);
    expect(shown.body).to.include({
      webhookId: id,
      status: 'active',
      reason: 'keys_unreadable',
      url: null,
      headers: null,
    });
    for (const what of ['deliveries', 'parked']) {
      expect((await call('GET', `/${id}/${what}`)).status, what).to.equal(200);
    }
    expect((await call('POST', `/${id}/test`)).status).to.equal(503);
    expect((await call('PATCH', `/${id}`, { description: 'shop' })).status).to.equal(503);
    expect((await call('DELETE', `/${id}`)).body).to.include({ webhookId: id, deleted: true });
    expect(((await call('GET', '')).body.webhooks as object[]).length).to.equal(1);
  });
});
