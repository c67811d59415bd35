import { eventually } from '@gateway/testkit/eventually';
import { type RedisProxy, startRedisProxy } from '@gateway/testkit/redis-proxy';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { addSender, linkDevice } from './support/device-owner.js';
import { type Answer, startTestApi, type TestApi } from './support/test-api.js';

const TEXT = { to: '447700900001', text: 'hello' };

describe('Redis away (503)', () => {
  let space: RedisSpace;
  let proxy: RedisProxy;
  let api: TestApi;

  beforeEach(async () => {
    space = await openRedisSpace();
    proxy = await startRedisProxy(space.url);
    api = await startTestApi(space, { redisUrl: proxy.url });
    await linkDevice(space.store);
  });
  afterEach(async () => {
    await api.close();
    proxy.close();
    await space.close();
  });

  const requests: [string, string, unknown?][] = [
    ['GET', '/status'],
    ['POST', '/connect'],
    ['POST', '/disconnect'],
    ['POST', '/send', TEXT],
    ['GET', '/messages/msg_0000000000000000000000000'],
    ['GET', '/opt-outs'],
    ['POST', '/opt-outs', { phone: '447700900001' }],
    ['DELETE', '/opt-outs/447700900001'],
    ['GET', '/nothing'],
  ];

  async function expectUnavailable(request: () => Promise<Answer>): Promise<void> {
    const startedAt = Date.now();
    const { status, body, headers } = await request();
    expect(Date.now() - startedAt).to.be.below(3_000);
    expect(status).to.equal(503);
    expect(body).to.deep.equal({ success: false, error: 'Service unavailable' });
    expect(Number(headers.get('retry-after'))).to.be.greaterThan(0);
  }

  for (const fault of ['cut', 'freeze'] as const) {
    it(`answers 503 in under 3 s while Redis is away (${fault}), and works by itself when it is back`, async () => {
      expect((await api.call('POST', '/send', { json: TEXT })).status).to.equal(202);
      proxy[fault]();
      for (const [method, path, json] of requests) {
        await expectUnavailable(() => api.call(method, path, json === undefined ? {} : { json }));
      }
      await expectUnavailable(() => api.call('GET', '/status', { token: 'wrong' }));
      proxy.restore();
      await eventually(async () => (await api.call('POST', '/send', { json: TEXT })).status === 202);
      expect((await api.call('GET', '/status')).body).to.include({ status: 'connected' });
    });
  }

  it('limits as ever after it was started while Redis was down', async () => {
    proxy.cut();
    const late = await startTestApi(space, { redisUrl: proxy.url, withoutRedis: true });
    await expectUnavailable(() => late.call('POST', '/send', { json: TEXT }));
    proxy.restore();
    const first = await eventually(async () => {
      const answer = await late.call('POST', '/send', { json: TEXT });
      return answer.status === 202 && answer;
    });
    expect(first.headers.get('x-ratelimit-remaining')).to.equal('29');
    for (let request = 2; request <= 30; request++) await late.call('POST', '/send', { json: TEXT });
    expect((await late.call('POST', '/send', { json: TEXT })).status).to.equal(429);
    await late.close();
  });

  it('limits as ever after Redis lost the script of the limiter', async () => {
    expect((await api.call('GET', '/status')).headers.get('x-ratelimit-remaining')).to.equal('19');
    await space.store.redis.script('FLUSH');
    expect((await api.call('GET', '/status')).headers.get('x-ratelimit-remaining')).to.equal('18');
  });

  it('ends a wait for a code with 503', async () => {
    const other = { workspace: 'main', device: 'other' };
    await addSender(space.store);
    const { value } = await api.newToken({ device: other.device });
    const answer = api.call('POST', '/connect', { token: value });
    await eventually(async () => (await space.store.redis.exists(`${space.prefix}:{main/other}:desired`)) === 1);
    proxy.cut();
    expect((await answer).status).to.equal(503);
  });
});
