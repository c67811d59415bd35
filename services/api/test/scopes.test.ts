import { ENDPOINTS } from '@gateway/api/endpoints';
import { API_TOKEN_SCOPES, type ApiTokenScope } from '@gateway/contracts/api-token';
import { createApiToken, rotateApiToken, setApiTokenScopes } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { DEFAULT, linkDevice } from './support/device-owner.js';
import { exchange } from './support/raw-request.js';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const PHONE = '447700900001';
const NOT_ALLOWED = 'Not allowed for this token';

describe('what a token may do (403)', () => {
  const { space, api } = useTestApi({ linked: true, once: true });

  const tokenWith = async (...scopes: ApiTokenScope[]) => (await api.newToken({ scopes })).value;
  const send = async (token: string) => {
    const { status, body } = await api.call('POST', '/send', { token, json: { to: PHONE, text: 'hello' } });
    expect(status).to.equal(202);
    return String(body.messageId);
  };
  const show = async (token: string, id: string) => (await api.call('GET', `/messages/${id}`, { token })).status;
  const cancel = async (token: string, id: string) => (await api.call('DELETE', `/messages/${id}`, { token })).status;

  for (const { path, methods, scope } of ENDPOINTS) {
    for (const method of methods.map((each) => each.toUpperCase())) {
      it(`${method} ${path} asks for ${scope}, before it reads a body`, async () => {
        const others = await tokenWith(...API_TOKEN_SCOPES.filter((each) => each !== scope));
        const lines = [
          ...[`${method} ${BASE}${path.replace(/:\w+/, PHONE)} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${others}`],
          ...['Content-Type: text/plain', 'Content-Length: 99'],
        ];
        const [refused] = await exchange(api.port, [`${lines.join('\r\n')}\r\n\r\n`]);
        expect(refused!.status).to.equal(403);
        expect(refused!.headers.get('x-ratelimit-limit')).to.match(/^\d+$/);
        expect(JSON.parse(refused!.body)).to.deep.equal({
          ...{ success: false, error: NOT_ALLOWED },
          details: [{ path: ['scope'], message: `needs the scope ${scope}` }],
        });
        const { status } = await api.call(method, `${path.replace(/:\w+/, PHONE)}?nonsense=1`, {
          token: await tokenWith(scope),
        });
        expect(status, 'with that scope alone').to.equal(400);
      });
    }
  }

  it('is connect, send, otp, read and opt-outs unless others are named, for tokens made before there were scopes too', async () => {
    const { token, value } = await api.newToken();
    const key = `${space.prefix}:{main}:token:${token.keyId}`;
    await space.store.redis.hdel(key, 'scopes', 'owner');
    for (const path of ['/status', '/opt-outs', `/opt-outs/${PHONE}`]) {
      expect((await api.call('GET', path, { token: value })).status, path).to.equal(200);
    }
    expect(await show(value, await send(value))).to.equal(200);
    for (const path of ['/events', '/webhooks']) {
      expect((await api.call('GET', path, { token: value })).status, path).to.equal(403);
    }
    expect(await show(value, await send((await api.newToken()).value)), 'of another').to.equal(404);
    expect(token.scopes).to.deep.equal(['connect', 'send', 'otp', 'read', 'opt-outs']);
  });

  it('changes on a token that is in use within a second, for repeats of what it did before too', async () => {
    const { token, value } = await api.newToken();
    const request = { token: value, json: { to: PHONE, text: 'hello' }, headers: { 'idempotency-key': 'k' } };
    expect((await api.call('POST', '/send', request)).status).to.equal(202);
    expect((await api.call('GET', `/status?token=${value}`, { token: undefined })).status).to.equal(200);
    await setApiTokenScopes(space.store, 'main', token.keyId, ['otp']);
    await eventually(async () => (await api.call('POST', '/send', request)).status === 403, {
      timeoutMs: 3_000,
      everyMs: 100,
    });
    const inQuery = await api.call('GET', `/status?token=${value}`, { token: undefined });
    expect(inQuery.status, 'in the query as in the header').to.equal(403);
  });

  it('lets a token of a device add opt-outs, and neither list, look at nor lift them', async () => {
    const { value: token } = await api.newToken({ device: DEFAULT.device, scopes: [...API_TOKEN_SCOPES] });
    expect((await api.call('POST', '/opt-outs', { token, json: { phone: PHONE } })).status).to.equal(200);
    for (const [method, path] of [
      ['GET', '/opt-outs'],
      ['GET', `/opt-outs/${PHONE}`],
      ['DELETE', `/opt-outs/${PHONE}`],
    ] as const) {
      const { status, body } = await api.call(method, path, { token });
      expect(status, path).to.equal(403);
      expect(body.error).to.equal(NOT_ALLOWED);
      expect(body.details).to.deep.equal([{ path: ['scope'], message: 'is not for tokens of one device' }]);
    }
    expect((await api.call('GET', `/opt-outs/${PHONE}`)).body.optedOut).to.equal(true);
  });

  it('shows and cancels a send to the token that made it, and to others as if there were none', async () => {
    const mine = (await api.newToken()).value;
    const id = await send(mine);
    for (const options of [{}, { device: DEFAULT.device }]) {
      const other = (await api.newToken(options)).value;
      expect(await show(other, id)).to.equal(404);
      expect(await cancel(other, id)).to.equal(404);
    }
    expect(await show(mine, id)).to.equal(200);
    expect(await cancel(mine, id)).to.equal(200);
  });

  it('shows and cancels everything to a token with admin; of its device only to one of a device', async () => {
    const shop = { workspace: 'main', device: 'shop' };
    await linkDevice(space.store, shop);
    const id = await send((await api.newToken({ device: shop.device })).value);
    const scopes: ApiTokenScope[] = ['read', 'send', 'admin'];
    const ofOther = (await api.newToken({ device: DEFAULT.device, scopes })).value;
    expect(await show(ofOther, id)).to.equal(404);
    expect(await cancel(ofOther, id)).to.equal(404);
    for (const options of [{ device: shop.device }, {}]) {
      expect(await show((await api.newToken({ ...options, scopes })).value, id)).to.equal(200);
    }
    expect(await cancel(await tokenWith(...scopes), id)).to.equal(200);
  });

  it('answers no message of another device, whatever is known of its id', async () => {
    const shop = { workspace: 'main', device: 'branch' };
    await linkDevice(space.store, shop);
    const existingMessageId = await send((await api.newToken({ device: shop.device })).value);
    const json = { to: PHONE, text: 'hello', existingMessageId };
    const { status, body } = await api.call('POST', '/send', { token: await tokenWith('send', 'admin'), json });
    expect(status).to.equal(400);
    const unknown = await api.call('POST', '/send', { json: { ...json, existingMessageId: 'msg_unknown' } });
    expect(body, 'as of one that there never was').to.deep.equal(unknown.body);
  });

  it('goes on with a rotated token: sends, repeats, device and scopes are as they were', async () => {
    const first = await createApiToken(space.store, 'main', {
      name: 'shop',
      device: DEFAULT.device,
      scopes: ['send', 'read'],
    });
    const request = { json: { to: PHONE, text: 'hello' }, headers: { 'idempotency-key': 'k' } };
    const { body } = await api.call('POST', '/send', { ...request, token: first.value });
    const second = await rotateApiToken(space.store, 'main', first.token.keyId, {});
    const third = await rotateApiToken(space.store, 'main', second!.token.keyId, {});
    expect(third!.token).to.deep.include({ name: 'shop', device: DEFAULT.device, scopes: ['send', 'read'] });
    for (const { value } of [first, second!, third!]) expect(await show(value, String(body.messageId))).to.equal(200);
    const repeat = await api.call('POST', '/send', { ...request, token: third!.value });
    expect(repeat.body).to.deep.equal(body);
    expect(repeat.headers.get('idempotency-replayed')).to.equal('true');
  });
});
