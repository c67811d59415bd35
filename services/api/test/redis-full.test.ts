import { deviceKeys } from '@gateway/contracts/redis-keys';
import { findOptOut } from '@gateway/store/opt-outs';
import { readSend } from '@gateway/store/read-send';
import { type SmallRedis, startSmallRedis } from '@gateway/testkit/small-redis';
import { expect } from 'chai';
import { DEFAULT, linkDevice } from './support/device-owner.js';
import { type Answer, startTestApi, type TestApi } from './support/test-api.js';

const MEGABYTE = 1024 * 1024;
const UNAVAILABLE = { success: false, error: 'Service unavailable' };

describe('the API and how full Redis is', () => {
  let redis: SmallRedis;
  let api: TestApi;
  beforeEach(async () => {
    redis = await startSmallRedis();
    api = await startTestApi(redis.space, { waits: { otpMs: 50, logoutMs: 50 } });
    await linkDevice(redis.space.store);
  });
  afterEach(async () => {
    await api.close();
    await redis.close();
  });

  const send = (to: string | string[]) => api.call('POST', '/send', { json: { to, text: 'hello' } });
  const otp = () => api.call('POST', '/otp', { json: { phone: '447700900001', code: '123456' } });
  const optOut = () => api.call('POST', '/opt-outs', { json: { phone: '447700900001' } });
  const people = (count: number) => Array.from({ length: count }, (_, i) => String(447_700_000_000 + i));
  /** A replica that has not asked Redis yet. */
  const restartApi = async () => {
    await api.close();
    api = await startTestApi(redis.space, { waits: { otpMs: 50, logoutMs: 50 } });
  };
  function expectRefused({ status, body, headers }: Answer): void {
    expect([status, body]).to.deep.equal([503, UNAVAILABLE]);
    expect(headers.get('retry-after')).to.equal('30');
  }

  it('takes lists up to 85 %, and one-time passwords and opt-outs up to 95 %', async () => {
    await redis.fillTo(0.87);
    expectRefused(await send('447700900001'));
    expect((await otp()).status).to.equal(202);
    expect((await optOut()).status).to.equal(200);
    await redis.fillTo(0.96);
    await restartApi();
    expectRefused(await otp());
    expectRefused(await optOut());
    expectRefused(await api.call('POST', '/connect?forceNew=true'));
    await redis.empty();
    await restartApi();
    expect((await send('447700900001')).status).to.equal(202);
  });

  it('counts the keys of those who wait, before it takes more', async () => {
    await redis.fillTo(0.85 - (25 * MEGABYTE) / redis.maxBytes);
    const { token } = api;
    const sends = await Promise.all(Array.from({ length: 4 }, () => send(people(10_000))));
    expect(sends.map(({ status }) => status).sort(), '14 MB each').to.deep.equal([202, 503, 503, 503]);
    expect((await send(people(100))).status).to.equal(202);
    await restartApi();
    expectRefused(await send(people(10_000)));
    const { messageId } = sends.find(({ status }) => status === 202)!.body;
    expect((await api.call('DELETE', `/messages/${messageId}`, { token })).status).to.equal(200);
    await restartApi();
    expect((await send(people(10_000))).status, 'they wait no more').to.equal(202);
  });

  it('answers while it is full, and ends what callers want ended', async () => {
    const { messageId } = (await send(people(3))).body as { messageId: string };
    await redis.fill();
    const status = await api.call('GET', '/status');
    expect([status.status, status.body.status]).to.deep.equal([200, 'connected']);
    expect(status.headers.get('x-ratelimit-remaining')).to.equal('19');
    for (let i = 0; i < 19; i++) await api.call('GET', '/status');
    expect((await api.call('GET', '/status')).status, 'limits count').to.equal(429);
    const cancelled = await api.call('DELETE', `/messages/${messageId}`);
    expect([cancelled.status, cancelled.body.status]).to.deep.equal([200, 'cancelled']);
    expect((await readSend(api.store, DEFAULT, messageId))?.state).to.equal('closed');
    expectRefused(await send('447700900001'));
    expect((await api.call('GET', `/messages/${messageId}`)).status).to.equal(200);
    const left = await api.call('POST', '/disconnect');
    expect([left.status, left.body.success]).to.deep.equal([200, true]);
    expect(await api.store.redis.hget(deviceKeys(api.store.space, DEFAULT).desired, 'want')).to.equal('unlinked');
  });

  it('holds as many opt-outs as the operator allows, and says how many it did not take', async () => {
    await api.close();
    api = await startTestApi(redis.space, { maxOptOuts: 2 });
    const answer = await api.call('POST', '/opt-outs', { json: { phone: people(5) } });
    expect([answer.status, answer.body]).to.deep.equal([
      422,
      {
        success: false,
        error: 'List of opt-outs is full',
        details: [{ path: ['phone'], message: '3 people were not added: the list holds 2' }],
      },
    ]);
    expect(await findOptOut(api.store, 'main', people(5)[0]!)).to.include({ source: 'api' });
  });
});
