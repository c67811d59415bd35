import { parseNetworks } from '@gateway/egress/address-rules';
import { listAudit } from '@gateway/store/console/audit';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from './support/device-owner.js';
import { startTestApi, type TestApi } from './support/test-api.js';

describe('the audit log of what programs change', () => {
  let space: RedisSpace;
  let api: TestApi;
  beforeEach(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space, {
      waits: { codeMs: 100, logoutMs: 100 },
      webhookPolicy: { addresses: { allowed: parseNetworks('127.0.0.1/32') } },
    });
  });
  afterEach(async () => {
    await api.close();
    await space.close();
  });

  it('tells who changed what, once, and nothing of sends and of people', async () => {
    const { value: token } = await api.newToken({ name: 'shop program' });
    const [, keyId] = token.split('_');
    await linkDevice(space.store);
    const call = async (method: 'POST' | 'DELETE', path: string, json?: object) =>
      (await api.call(method, path, { token, ...(json && { json }) })).body;
    const { messageId } = await call('POST', '/send', { to: '447700900125', text: 'hello' });
    for (let times = 0; times < 2; times++) {
      await call('DELETE', `/messages/${messageId}`);
      await call('POST', '/opt-outs', { phone: ['447700900123', '447700900124'] });
      await call('POST', '/disconnect');
    }
    for (let times = 0; times < 2; times++) await call('DELETE', '/opt-outs/447700900123');
    const entries = await listAudit(space.store);
    expect(entries.map(({ action, target }) => [action, target]).reverse()).to.deep.equal([
      ['message.cancelled', messageId],
      ['opt_outs.added', '2'],
      ['device.disconnected', 'default'],
      ['opt_out.lifted', undefined],
    ]);
    expect(new Set(entries.map(({ user }) => user))).to.deep.equal(new Set([`shop program (${keyId})`]));
    expect(new Set(entries.map(({ workspace }) => workspace))).to.deep.equal(new Set(['main']));
    expect(entries.every(({ requestId }) => /^req_/.test(requestId ?? ''))).to.equal(true);
  });

  it('tells of webhooks too, and not of what was the same already', async () => {
    const { value: token } = await api.newToken({ scopes: ['webhooks'] });
    const call = async (method: string, path: string, json?: object) =>
      (await api.call(method, `/webhooks${path}`, { token, ...(json && { json }) })).body;
    const { webhookId: id } = await call('POST', '', { url: 'https://127.0.0.1:1/' });
    await call('PATCH', `/${id}`, { gatherSeconds: 5 });
    await call('POST', `/${id}/pause`);
    await call('POST', `/${id}/resume`);
    await call('POST', `/${id}/rotate`, {});
    await call('POST', `/${id}/replay`, { after: '2026-01-01T00:00:00Z' });
    await call('POST', `/${id}/test`);
    for (let times = 0; times < 2; times++) await call('DELETE', `/${id}`);
    const entries = await listAudit(space.store);
    expect(entries.map(({ action, target }) => [action, target]).reverse()).to.deep.equal(
      ['created', 'changed', 'paused', 'resumed', 'secret_rotated', 'replayed', 'tested', 'deleted'].map((what) => [
        `webhook.${what}`,
        id,
      ]),
    );
  });
});
