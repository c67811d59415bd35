import { findApiToken, revokeApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { type Answer, BASE, startTestApi } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

describe('API tokens (401)', () => {
  const { space, api } = useTestApi();

  function expectRefused({ status, body, headers }: Answer): void {
    expect(status).to.equal(401);
    expect(body).to.deep.equal({ success: false, error: 'Invalid API token' });
    expect(headers.get('www-authenticate')).to.equal('Bearer');
    expect(headers.get('x-ratelimit-limit')).to.equal(null);
  }

  it('answers missing, malformed, unknown, expired and revoked tokens alike', async () => {
    const expired = await api.newToken({ expiresAtMs: Date.now() - 1 });
    const revoked = await api.newToken();
    await revokeApiToken(space.store, 'main', revoked.token.keyId);
    const unknown = await api.newToken();
    await space.store.redis.del(`${space.prefix}:{main}:token:${unknown.token.keyId}`);
    const mistyped = `${unknown.value.slice(0, -1)}${unknown.value.endsWith('0') ? '1' : '0'}`;
    for (const token of [undefined, '', 'x', mistyped, unknown.value, expired.value, revoked.value]) {
      expectRefused(await api.call('GET', '/status', { token }));
    }
  });

  it('refuses a token whose key id is right and whose secret is another', async () => {
    const { token } = await api.newToken();
    const other = await api.newToken();
    await space.store.redis.hset(`${space.prefix}:{main}:token:${other.token.keyId}`, 'hash', token.hash);
    expectRefused(await api.call('GET', '/status', { token: other.value }));
  });

  it('takes the header in any case of its scheme, or the query', async () => {
    const { value } = await api.newToken();
    for (const authorization of [`Bearer ${value}`, `bearer ${value}`, `BEARER  ${value}`]) {
      const answer = await api.call('GET', '/status', { token: undefined, headers: { authorization } });
      expect(answer.status).to.equal(200);
    }
    expect((await api.call('GET', `/status?token=${value}`, { token: undefined })).status).to.equal(200);
  });

  it('lets the header win over the query', async () => {
    const { value } = await api.newToken();
    expect((await api.call('GET', '/status?token=wrong', { token: value })).status).to.equal(200);
    expectRefused(await api.call('GET', `/status?token=${value}`, { token: 'wrong' }));
  });

  it('stops a token that is in use on every replica, soon after it is revoked', async () => {
    const other = await startTestApi(space);
    const { value, token } = await api.newToken();
    expect((await other.call('GET', '/status', { token: value })).status).to.equal(200);
    expect((await api.call('GET', '/status', { token: value })).status).to.equal(200);
    await revokeApiToken(space.store, 'main', token.keyId);
    for (const replica of [api, other]) {
      const refused = await eventually(
        async () => {
          const answer = await replica.call('GET', '/status', { token: value });
          return answer.status !== 200 && answer;
        },
        { timeoutMs: 3_000, everyMs: 100 },
      );
      expectRefused(refused);
    }
    await other.close();
  });

  it('records the last use', async () => {
    const { value, token } = await api.newToken();
    await api.call('GET', '/status', { token: value });
    const used = await eventually(async () => (await findApiToken(space.store, 'main', token.keyId))?.lastUsedAtMs);
    expect(used).to.be.closeTo(Date.now(), 5_000);
  });

  it('checks the token of unknown paths and wrong methods too', async () => {
    expectRefused(await api.call('GET', '/nothing', { token: undefined }));
    expectRefused(await api.call('PUT', '/send', { token: undefined }));
    const { status } = await fetch(`${api.origin}/`);
    expect(status).to.equal(401);
  });

  it('counts failures by address: the 21st in a minute is a 429, a valid token still passes', async () => {
    const fail = () => api.call('GET', '/status', { token: 'wrong' });
    for (let attempt = 1; attempt <= 20; attempt++) expectRefused(await fail());
    const { status, body, headers } = await fail();
    expect(status).to.equal(429);
    expect(body).to.include({ success: false, error: 'Rate limit exceeded' });
    expect(body.resetIn).to.be.within(1, 60);
    expect(headers.get('retry-after')).to.equal(String(body.resetIn));
    expect((await api.call('GET', '/status')).status).to.equal(200);
  });

  it('believes forwarded addresses only from as many proxies as it was told of', async () => {
    const behindProxy = await startTestApi(space, { trustedProxies: 1 });
    const fail = (forwarded: string, { origin } = behindProxy) =>
      fetch(`${origin}${BASE}/status`, { headers: { 'x-forwarded-for': forwarded } });
    for (let attempt = 1; attempt <= 20; attempt++) expect((await fail('203.0.113.7')).status).to.equal(401);
    expect((await fail('203.0.113.7')).status).to.equal(429);
    expect((await fail('198.51.100.2, 203.0.113.7')).status).to.equal(429);
    expect((await fail('203.0.113.8')).status).to.equal(401);
    expect((await fail('203.0.113.7', api)).status, 'without proxies it is the address of the socket').to.equal(401);
    await behindProxy.close();
  });
});
