import { parseMessageId } from '@gateway/contracts/ids';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { defer } from '@gateway/runtime/deferred';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisProxy, startRedisProxy } from '@gateway/testkit/redis-proxy';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { acknowledgeSend, addSender, DEFAULT, type DeviceOwner, linkDevice } from './support/device-owner.js';
import { type Answer, startTestApi, type TestApi } from './support/test-api.js';

const TEXT = { to: '447700900001', text: 'hello' };

describe('Redis away (503)', () => {
  let space: RedisSpace;
  let proxy: RedisProxy;
  let api: TestApi;
  let owner: DeviceOwner;

  beforeEach(async () => {
    space = await openRedisSpace();
    proxy = await startRedisProxy(space.url);
    api = await startTestApi(space, { redisUrl: proxy.url });
    owner = await linkDevice(space.store);
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
    await eventually(async () => (await space.store.redis.exists(`${space.prefix}:{#43}:main/other:desired`)) === 1);
    proxy.cut();
    expect((await answer).status).to.equal(503);
  });

  it('denies no OTP that was promised: waits on, and answers 202 when it stays away', async () => {
    for (const becomes of ['back', 'away'] as const) {
      const replica = await startTestApi(space, {
        redisUrl: proxy.url,
        waits: { otpMs: becomes === 'back' ? 5_000 : 500 },
      });
      const json = { phone: '447700900001', code: '00731952' };
      const known = await listOpenSends(space.store, DEFAULT);
      const isAccepted = defer<void>();
      const { run } = replica.store;
      replica.store.run = async (name, keys, args) => {
        const reply = await run(name, keys, args);
        if (name === 'accept-send') isAccepted.resolve();
        return reply;
      };
      const answer = replica.call('POST', '/otp', { json, headers: { 'idempotency-key': 'login-7' } });
      await isAccepted.promise;
      const messageId = (await listOpenSends(space.store, DEFAULT)).find((id) => !known.includes(id))!;
      proxy.cut();
      if (becomes === 'back') {
        await acknowledgeSend(space.store, owner, messageId);
        proxy.restore();
      }
      const { status, body } = await answer;
      expect(status).to.equal(becomes === 'back' ? 200 : 202);
      expect(body.data).to.include({ messageId, code: json.code });
      expect((body.data as Record<string, string>).platformMessageId).to.match(/^3EB0[0-9A-F]{18}$/);
      proxy.restore();
      await replica.close();
    }
  });

  for (const [path, json] of [
    ['/send', TEXT],
    ['/otp', { phone: '447700900001', code: '482913' }],
  ] as const) {
    it(`promises what ${path} has accepted when Redis goes away right then: its owner finds it`, async () => {
      const replica = await startTestApi(space, { redisUrl: proxy.url, waits: { otpMs: 100 } });
      const { run } = replica.store;
      replica.store.run = async (name, keys, args) => {
        const reply = await run(name, keys, args);
        if (name === 'accept-send') proxy.cut();
        return reply;
      };
      const { status, body } = await replica.call('POST', path, { json });
      expect(status, JSON.stringify(body)).to.equal(202);
      const messageId = String(body.messageId ?? (body.data as Record<string, unknown>).messageId);
      const { due } = shardKeys(space.store.space, shardOf(DEFAULT));
      expect(await listOpenSends(space.store, DEFAULT)).to.deep.equal([messageId]);
      expect(await space.clients.commands.zrange(due, '0', '-1')).to.deep.equal([
        `main/default/${parseMessageId(messageId)!.tag}`,
      ]);
      proxy.restore();
      await replica.close();
    });
  }
});
