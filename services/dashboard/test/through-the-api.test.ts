import { tokenIndexKey, workspaceKeys } from '@gateway/contracts/redis-keys';
import { listAudit } from '@gateway/store/console/audit';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { beatHeart } from '@gateway/store/fleet/members';
import { createPassingToken, findApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { ACCOUNT, linkDevice, ownDevice } from '../../api/test/support/device-owner.js';
import { startTestApi, type TestApi } from '../../api/test/support/test-api.js';
import { type Browser, startTestDashboard, type TestDashboard } from './support/test-dashboard.js';

describe('what the console does through the public API', () => {
  let space: RedisSpace;
  let api: TestApi;
  let dashboard: TestDashboard;
  let admin: Browser;
  before(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space, { waits: { codeMs: 5_000, logoutMs: 200 } });
    dashboard = await startTestDashboard(space, { apiUrl: api.origin });
    admin = await dashboard.signIn();
  });
  after(async () => {
    await dashboard.close();
    await api.close();
    await space.close();
  });

  const addSender = () => beatHeart(space.store, { self: { id: 'a-sender', held: 0, capacity: 10 }, ttlMs: 60_000 });

  it('asks for a link of a device that did not exist, with a token that is in no list', async () => {
    await addSender();
    const address = { workspace: 'main', device: 'shop' };
    const asked = admin.post('/devices/shop/connect', { method: 'qrCode' });
    await eventually(async () => (await readDeviceState(space.store, address)).desired?.want === 'linking');
    const owner = await ownDevice(space.store, address);
    await owner.observe({ status: 'connecting', code: 'the code', codeExpiresAtMs: Date.now() + 20_000 });
    const { status, body, text } = await asked;
    expect([status, body.status]).to.deep.equal([200, 'connecting']);
    expect(text).not.to.include('the code');
    expect((await admin.get('/devices/shop')).body.device.link.code).to.equal('the code');

    const { tokens } = (await admin.get('/tokens')).body;
    expect(tokens.map(({ name }: { name: string }) => name)).to.deep.equal(['test']);
    const keys = await space.store.redis.keys(`${workspaceKeys(space.store.space, 'main').token('*')}`);
    const ttls = await Promise.all(keys.map((key) => space.store.redis.ttl(key)));
    // One lives on in the list; that of the console goes by itself, later than the sends that it could make.
    expect(ttls.filter((ttl) => ttl > 8 * 86_400)).to.have.length(1);
    // Once, although the API writes what programs do.
    const done = (await listAudit(space.store)).filter(({ action }) => action === 'device.link_asked');
    expect(done.map(({ user, target }) => [user, target])).to.deep.equal([['admin', 'shop']]);
  });

  it('shows tokens of one device, or of what belongs to none, that end after a quarter of an hour', async () => {
    const keysOf = async () =>
      new Set(await space.store.redis.keys(workspaceKeys(space.store.space, 'main').token('*')));
    const before = await keysOf();
    const viewer = await dashboard.signIn('operator');
    await viewer.post('/devices/narrow/disconnect');
    await viewer.get('/opt-outs');
    await viewer.post('/opt-outs', { phones: ['447700900001'] });
    const made = [...(await keysOf())].filter((key) => !before.has(key));
    const tokens = await Promise.all(
      made.map(async (key) => (await findApiToken(space.store, 'main', key.split(':').at(-1)!))!),
    );
    const leftMs = tokens.map(({ expiresAtMs }) => expiresAtMs! - Date.now());
    for (const ms of leftMs) expect(ms).to.be.within(14 * 60_000, 15 * 60_000);
    expect(tokens.map(({ device, scopes, name }) => ({ device, name, scopes: new Set(scopes) }))).to.have.deep.members([
      { device: 'narrow', name: 'console: operator', scopes: new Set(['connect', 'read', 'send', 'admin']) },
      { device: undefined, name: 'console: operator', scopes: new Set(['opt-outs', 'webhooks']) },
    ]);
  });

  it('uses one token of a user and a device for many calls', async () => {
    await linkDevice(space.store, { workspace: 'main', device: 'busy' });
    const count = async () =>
      (await space.store.redis.keys(workspaceKeys(space.store.space, 'main').token('*'))).length;
    await admin.post('/devices/busy/connect');
    const before = await count();
    for (let call = 0; call < 3; call++)
      expect((await admin.post('/devices/busy/connect')).body.status).to.equal('connected');
    expect(await count()).to.equal(before);
  });

  it('leaves no token behind that has ended', async () => {
    const index = tokenIndexKey(space.store.space);
    const ended = await createPassingToken(space.store, 'main', { name: 'ended', expiresAtMs: Date.now() - 1 });
    await createPassingToken(space.store, 'main', { name: 'lives', expiresAtMs: Date.now() + 60_000 });
    expect(await space.store.redis.hexists(index, ended.token.keyId)).to.equal(0);
  });

  it('disconnects, and says what the network knows of it', async () => {
    await linkDevice(space.store, { workspace: 'main', device: 'leaving' });
    const { status, body } = await admin.post('/devices/leaving/disconnect');
    expect(status).to.equal(200);
    expect(body.message).to.match(/^Disconnected\./);
    const state = await readDeviceState(space.store, { workspace: 'main', device: 'leaving' });
    expect(state.desired?.want).to.equal('unlinked');
    const shown = (await admin.get('/devices/leaving')).body.device;
    expect(shown).to.include({ status: 'disconnected' });
    expect(JSON.stringify(shown)).not.to.include(`"accountName":"${ACCOUNT}"`);
  });

  it('hands on what the API refuses, with its code and the same request id', async () => {
    const { status, body, headers } = await admin.post('/devices/shop/connect', {
      method: 'pairingCode',
      phoneNumber: 'not a number',
    });
    expect([status, body.code]).to.deep.equal([400, 'invalid_request']);
    expect(body.requestId).to.equal(headers['x-request-id']);
    expect(body.details[0].path).to.deep.equal(['phoneNumber']);
  });

  it('says that the API is away when it is', async () => {
    const other = await startTestDashboard(space, { apiUrl: 'http://127.0.0.1:9' });
    try {
      const browser = await other.signIn();
      const { status, body } = await browser.post('/devices/shop/disconnect');
      expect([status, body.code]).to.deep.equal([503, 'api_away']);
    } finally {
      await other.close();
    }
  });

  it('makes tokens that work, shows them once, and revokes them', async () => {
    await linkDevice(space.store, { workspace: 'main', device: 'default' });
    const made = await admin.post('/tokens', { name: 'my app', expiresInDays: 30 });
    expect(made.status).to.equal(201);
    const { value, token } = made.body;
    expect((await api.call('GET', '/status', { token: value })).status).to.equal(200);
    const listed = await admin.get('/tokens');
    expect(listed.text).not.to.include(value);
    expect(listed.body.tokens[0]).to.include({ keyId: token.keyId, name: 'my app', state: 'active' });
    await admin.post(`/tokens/${token.keyId}/revoke`);
    await eventually(async () => (await api.call('GET', '/status', { token: value })).status === 401);
    expect((await admin.get('/tokens')).body.tokens[0].state).to.equal('revoked');
    expect((await admin.post('/tokens/none/revoke')).status).to.equal(404);
    const actions = (await listAudit(space.store)).slice(0, 2).map(({ action, target }) => [action, target]);
    expect(actions).to.deep.equal([
      ['token.revoked', token.keyId],
      ['token.created', token.keyId],
    ]);
  });
});
