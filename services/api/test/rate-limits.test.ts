import type { RATE_LIMITS } from '@gateway/contracts/limits';
import { tokenLimitKey } from '@gateway/contracts/redis-keys';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from './support/device-owner.js';
import { type Answer, startTestApi, type TestApi } from './support/test-api.js';

const TEXT = { to: '447700900001', text: 'hello' };

describe('rate limits (429)', () => {
  let space: RedisSpace;
  let api: TestApi;
  let other: TestApi;

  beforeEach(async () => {
    space = await openRedisSpace();
    [api, other] = await Promise.all([startTestApi(space), startTestApi(space)]);
  });
  afterEach(async () => {
    await Promise.all([api.close(), other.close()]);
    await space.close();
  });

  function limitsOf({ headers }: Answer) {
    const read = (name: string) => Number(headers.get(`x-ratelimit-${name}`));
    return { limit: read('limit'), remaining: read('remaining'), reset: read('reset') };
  }

  function expectLimited(answer: Answer): void {
    expect(answer.status).to.equal(429);
    const { resetIn, ...body } = answer.body;
    expect(body).to.deep.equal({ success: false, error: 'Rate limit exceeded' });
    expect(resetIn).to.be.within(1, 60);
    expect(answer.headers.get('retry-after')).to.equal(String(resetIn));
    expect(limitsOf(answer).remaining).to.equal(0);
  }

  it('answers request 31 to /send in a minute with 429, whichever replica it meets', async () => {
    await linkDevice(space.store);
    const { value: token } = await api.newToken();
    for (let request = 1; request <= 30; request++) {
      const replica = request % 2 === 0 ? api : other;
      const answer = await replica.call('POST', '/send', { token, json: TEXT });
      expect(answer.status).to.equal(202);
      expect(limitsOf(answer)).to.include({ limit: 30, remaining: 30 - request });
    }
    expectLimited(await api.call('POST', '/send', { token, json: TEXT }));
    expectLimited(await other.call('POST', '/send', { token, json: TEXT }));
    expect((await api.call('POST', '/send', { json: TEXT })).status, 'another token').to.equal(202);
    expect(await api.metrics()).to.match(/gateway_rate_limited_requests_total\{bucket="send".*\} 1/);
  });

  it('asks Redis no more about a token that is over its limit, and tells it the same as Redis would', async () => {
    const { value: token, token: record } = await api.newToken();
    const key = tokenLimitKey(space.store.space, 'main', 'status', record.keyId);
    let last: Answer | undefined;
    for (let request = 1; request <= 21; request++) last = await api.call('GET', '/status', { token });
    expectLimited(last!);
    const counted = await space.clients.commands.get(key);
    for (let request = 0; request < 5; request++) {
      const answer = await api.call('GET', '/status', { token });
      expectLimited(answer);
      expect(limitsOf(answer).limit).to.equal(20);
      expect(limitsOf(answer).reset).to.be.within(limitsOf(last!).reset - 1, limitsOf(last!).reset);
    }
    expect(await space.clients.commands.get(key)).to.equal(counted);
    expectLimited(await other.call('GET', '/status', { token }));
    expect((await api.call('POST', '/send', { token, json: TEXT })).status, 'another limit').to.equal(409);
  });

  it('lets exactly 30 of 60 simultaneous requests through', async () => {
    await linkDevice(space.store);
    const { value: token } = await api.newToken();
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) => (i % 2 ? api : other).call('POST', '/send', { token, json: TEXT })),
    );
    expect(answers.filter(({ status }) => status === 202)).to.have.length(30);
    expect(answers.filter(({ status }) => status === 429)).to.have.length(30);
  });

  // As the contract has them, and not as the code does.
  const buckets: { [Bucket in keyof typeof RATE_LIMITS]: [limit: number, method: string, path: string] } = {
    connect: [15, 'GET', '/connect?method=wrong'],
    disconnect: [5, 'POST', '/disconnect'],
    status: [20, 'GET', '/status'],
    send: [30, 'POST', '/send'],
    otp: [10, 'POST', '/otp'],
    messages: [60, 'GET', '/messages/msg_unknown'],
    optOuts: [60, 'GET', '/opt-outs'],
    contacts: [10, 'POST', '/contacts/check'],
    events: [120, 'GET', '/events'],
    webhooks: [60, 'GET', '/webhooks/wh_unknown'],
    media: [60, 'GET', '/media/med_unknown'],
    other: [60, 'GET', '/nothing'],
  };
  for (const [bucket, [limit, method, path]] of Object.entries(buckets)) {
    it(`allows ${limit} requests a minute of ${bucket}`, async () => {
      const answers: Answer[] = [];
      for (let request = 1; request <= limit; request++) answers.push(await api.call(method, path));
      expect(answers.some(({ status }) => status === 429)).to.equal(false);
      expect(limitsOf(answers[0]!)).to.include({ limit, remaining: limit - 1 });
      expectLimited(await api.call(method, path));
    });
  }

  it('counts both methods of /connect together', async () => {
    const first = await api.call('GET', '/connect?method=wrong');
    const second = await api.call('POST', '/connect?method=wrong');
    expect(limitsOf(second).remaining).to.equal(limitsOf(first).remaining - 1);
  });

  it('counts wrong methods and unknown paths in one bucket, apart from the endpoints', async () => {
    expect(limitsOf(await api.call('PUT', '/send'))).to.include({ limit: 60, remaining: 59 });
    expect(limitsOf(await api.call('GET', '/nothing'))).to.include({ limit: 60, remaining: 58 });
    expect(limitsOf(await api.call('GET', '/messages/%zz'))).to.include({ limit: 60, remaining: 57 });
  });

  it('tells the end of the window as a Unix time that stays the same within it', async () => {
    const first = limitsOf(await api.call('GET', '/status'));
    const second = limitsOf(await other.call('GET', '/status', {}));
    const nowSeconds = Date.now() / 1000;
    expect(first.reset).to.be.within(nowSeconds + 55, nowSeconds + 61);
    expect(second.reset).to.be.within(nowSeconds + 55, nowSeconds + 61);
    const third = limitsOf(await api.call('GET', '/status'));
    expect(third.reset).to.be.within(first.reset, first.reset + 1);
  });

  it('carries the headers on refusals of later checks too', async () => {
    const answers = await Promise.all([
      api.call('POST', '/send', { json: {} }),
      api.call('POST', '/send', { body: 'x', headers: { 'content-type': 'text/plain' } }),
      api.call('POST', '/send', { json: TEXT }),
    ]);
    expect(answers.map(({ status }) => status)).to.deep.equal([400, 415, 409]);
    for (const answer of answers) expect(limitsOf(answer).limit).to.equal(30);
  });
});
