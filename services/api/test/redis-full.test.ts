import { RedisHeadroom } from '@gateway/api/sends/redis-headroom';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { readCapacity } from '@gateway/store/core/capacity';
import { readSend } from '@gateway/store/sends/read-send';
import { countOptOuts, findOptOut } from '@gateway/store/workspace/opt-outs';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { type SmallRedis, startSmallRedis } from '@gateway/testkit/small-redis';
import { expect } from 'chai';
import { acknowledgeSend, DEFAULT, type DeviceOwner, linkDevice } from './support/device-owner.js';
import { type Answer, startTestApi, type TestApi, type TestApiOptions } from './support/test-api.js';

const MEGABYTE = 1024 * 1024;
const UNAVAILABLE = { success: false, error: 'Service unavailable' };

describe('the API and how full Redis is', () => {
  let redis: SmallRedis;
  let api: TestApi;
  let owner: DeviceOwner;
  /** For how old what the API knows of Redis is. */
  const clock = { ms: 0, nowMs: Date.now, monotonicMs: () => clock.ms };
  const start = (options: TestApiOptions = {}) => {
    const headroom = new RedisHeadroom((...asked) => readCapacity(redis.space.store, ...asked), clock);
    return startTestApi(redis.space, { headroom, waits: { otpMs: 50, logoutMs: 50 }, ...options });
  };
  before(async () => {
    redis = await startSmallRedis();
    owner = await linkDevice(redis.space.store);
  });
  beforeEach(async () => {
    api = await start();
  });
  afterEach(async () => {
    await api.close();
    await redis.empty();
  });
  after(() => redis.close());

  const send = (to: string | string[]) => api.call('POST', '/send', { json: { to, text: 'hello' } });
  const otp = () => api.call('POST', '/otp', { json: { phone: '447700900001', code: '123456' } });
  const optOut = () => api.call('POST', '/opt-outs', { json: { phone: '447700900001' } });
  const people = (count: number) => Array.from({ length: count }, (_, i) => String(447_700_000_000 + i));
  /** The API asks Redis again, and waits for the answer. */
  const later = () => {
    clock.ms += 10_000;
  };
  function expectRefused({ status, body, headers }: Answer): void {
    expect([status, body]).to.deep.equal([503, UNAVAILABLE]);
    expect(headers.get('retry-after')).to.equal('30');
  }

  it('takes sends and checks of contacts up to 85 %, and one-time passwords and opt-outs up to 95 %', async () => {
    await redis.fillTo(0.87);
    expectRefused(await send('447700900001'));
    // Not 400: nothing is fetched for what has no room.
    const attachment = { type: 'document', url: 'http://127.0.0.1/' };
    expectRefused(await api.call('POST', '/send', { json: { to: '447700900001', attachment } }));
    expectRefused(await api.call('POST', '/contacts/check', { json: { phones: ['447700900001'] } }));
    expect((await otp()).status).to.equal(202);
    expect((await optOut()).status).to.equal(200);
    await redis.fillTo(0.96);
    later();
    expectRefused(await otp());
    expectRefused(await optOut());
    expectRefused(await api.call('POST', '/connect?forceNew=true'));
    await redis.empty();
    later();
    expect((await send('447700900001')).status).to.equal(202);
  });

  it('counts the keys of those who wait, before it takes more', async () => {
    await redis.fillTo(0.85 - (25 * MEGABYTE) / redis.maxBytes);
    const sends = await Promise.all(Array.from({ length: 4 }, () => send(people(3_500))));
    expect(sends.map(({ status }) => status).sort(), 'one of 5 MB in a quarter').to.deep.equal([202, 503, 503, 503]);
    expect((await send(people(100))).status).to.equal(202);
    later();
    expectRefused(await send(people(3_500)));
    const { messageId } = sends.find(({ status }) => status === 202)!.body;
    expect((await api.call('DELETE', `/messages/${messageId}`)).status).to.equal(200);
    later();
    await otp();
    later();
    const last = await send(people(3_500));
    expect(last.status, 'they wait no more').to.equal(202);
    await api.call('DELETE', `/messages/${last.body.messageId}`);
  });

  it('keeps a tenth of it for files, of all devices together, and takes more when one is cancelled', async () => {
    await linkDevice(redis.space.store, { workspace: 'main', device: 'other' });
    const tokens = await Promise.all(['default', 'other'].map((device) => api.newToken({ device })));
    const sendFile = (index: number, bytes: Buffer) => {
      const attachment = { type: 'document', base64: bytes.toString('base64'), filename: 'offer.bin' };
      return api.call('POST', '/send', { json: { to: '447700900001', attachment }, token: tokens[index]!.value });
    };
    const files = [1, 2].map((fill) => Buffer.alloc(4 * MEGABYTE, fill));
    const first = await sendFile(0, files[0]!);
    expect(first.status).to.equal(202);
    expect((await sendFile(1, files[1]!)).status, '8 of 6.4 MB').to.equal(503);
    const again = await sendFile(1, files[0]!);
    expect(again.status, 'it is there already').to.equal(202);
    const cancel = (index: number, { body }: Answer) =>
      api.call('DELETE', `/messages/${body.messageId}`, { token: tokens[index]!.value });
    await cancel(0, first);
    expect((await sendFile(0, files[1]!)).status, 'another send needs it').to.equal(503);
    await cancel(1, again);
    expect((await sendFile(0, files[1]!)).status).to.equal(202);
  });

  it('lets no token have more than a fifth of it for its sends, the oldest going first; others are not concerned', async () => {
    await api.close();
    const small: ConstructorParameters<typeof RedisHeadroom>[0] = async (...asked) => ({
      ...(await readCapacity(redis.space.store, ...asked)),
      limitBytes: 10 * MEGABYTE,
      usedBytes: 0,
      queuedMessages: new Map(),
    });
    api = await start({ headroom: new RedisHeadroom(small, clock) });
    const text = 'é'.repeat(65_536);
    const sendLong = (headers: Record<string, string> = {}) =>
      api.call('POST', '/send', { json: { to: '447700900001', text: `${text.slice(1)}y` }, headers });
    const idempotent = { 'Idempotency-Key': 'first' };
    const first = await sendLong(idempotent);
    await acknowledgeSend(api.store, owner, String(first.body.messageId));
    const answers = await Promise.all(Array.from({ length: 28 }, () => sendLong()));
    const [accepted, refused] = [202, 503].map((code) => answers.filter(({ status }) => status === code));
    expect(accepted!.length, String(answers.map(({ status }) => status))).to.be.within(10, 20);
    expect(accepted!.length + refused!.length).to.equal(28);
    for (const answer of refused!) expectRefused(answer);
    expect((await otp()).status).to.equal(202);
    const { value: token } = await api.newToken({});
    const others = await api.call('POST', '/send', { json: { to: '447700900001', text: 'hello' }, token });
    expect(others.status).to.equal(202);
    expect((await api.call('GET', `/messages/${first.body.messageId}`)).status).to.equal(404);
    const again = await sendLong(idempotent);
    expect([again.status, again.body]).to.deep.equal([202, first.body]);
  });

  it('lets no caller promise more than a share of the room, whichever replicas it asks; the others keep theirs', async () => {
    const tight = () =>
      new RedisHeadroom(async (...asked) => {
        const known = await readCapacity(redis.space.store, ...asked);
        return { ...known, limitBytes: 10 * MEGABYTE, usedBytes: 0 };
      }, clock);
    const replicas = [await start({ headroom: tight() }), await start({ headroom: tight() })];
    const newTokens = async (count: number, workspace?: string) => {
      const tokens = Array.from({ length: count }, () => createApiToken(api.store, workspace ?? 'main', { name: 'x' }));
      return (await Promise.all(tokens)).map(({ value }) => value);
    };
    const sendList = (token: string, i: number, size = 500) =>
      replicas[i % 2]!.call('POST', '/send', { json: { to: people(size), text: 'hello' }, token });
    const accepted = (answers: Answer[]) => answers.filter(({ status }) => status === 202).length;
    const flood = async (token: string, requests: number) =>
      accepted(await Promise.all(Array.from({ length: requests }, (_, i) => sendList(token, i))));
    const otpOf = (token: string, i: number) =>
      replicas[i % 2]!.call('POST', '/otp', { json: { phone: '447700900001', code: '123456' }, token });
    const [attacker, neighbour, ...crowd] = (await newTokens(8)) as [string, string, ...string[]];
    expect(await flood(attacker, 16), 'of 12 that there is room for').to.be.within(1, 4);
    expect((await sendList(neighbour, 0)).status, 'of another token').to.equal(202);
    for (const token of crowd) await flood(token, 4);
    later();
    expectRefused(await sendList(neighbour, 1, 3_000));
    for (const [i] of replicas.entries()) {
      expect((await sendList(neighbour, i, 10)).status, 'a small send').to.equal(202);
      expect((await otpOf(neighbour, i)).status).to.equal(202);
    }
    await createWorkspace(api.store, 'other');
    await linkDevice(api.store, { workspace: 'other', device: 'default' });
    const [stranger] = (await newTokens(1, 'other')) as [string];
    expect((await sendList(stranger, 0, 200)).status, 'of another workspace').to.equal(202);
    for (const replica of replicas) await replica.close();
  });

  it('refuses a file for good that could never be stored', async () => {
    const base64 = Buffer.alloc(7 * MEGABYTE, 3).toString('base64');
    const attachment = { type: 'document', base64, filename: 'offer.bin' };
    const { status, body, headers } = await api.call('POST', '/send', { json: { to: '447700900001', attachment } });
    expect([status, headers.get('retry-after')], '7 of 6.4 MB').to.deep.equal([413, null]);
    expect(body.details).to.deep.equal([
      { path: ['attachment'], message: 'no file over 6710886 bytes fits into this workspace' },
    ]);
  });

  it('answers while it is full, and ends what callers want ended', async () => {
    const { messageId } = (await send(people(3))).body as { messageId: string };
    await redis.fill();
    const status = await api.call('GET', '/status');
    expect([status.status, status.body.status]).to.deep.equal([200, 'connected']);
    expect(status.headers.get('x-ratelimit-remaining')).to.equal('19');
    const connected = await api.call('POST', '/connect');
    expect([connected.status, connected.body]).to.deep.equal([200, { success: true, status: 'connected' }]);
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
    api = await start({ maxOptOuts: (await countOptOuts(redis.space.store, 'main')) + 2 });
    const answer = await api.call('POST', '/opt-outs', { json: { phone: people(5) } });
    expect([answer.status, answer.body]).to.deep.equal([
      422,
      {
        success: false,
        error: 'List of opt-outs is full',
        details: [{ path: ['phone'], message: '3 people were not added: the list holds 3' }],
      },
    ]);
    expect(await findOptOut(api.store, 'main', people(5)[0]!)).to.include({ source: 'api' });
  });
});
