import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { dropAbandonedSends } from '@gateway/store/sends/accepting/accept-send';
import { expect } from 'chai';
import { useTestApi } from './support/use-test-api.js';

const DEFAULT = { workspace: 'main', device: 'default' };
const HOUR_MS = 3_600_000;

describe('a file whose send is not promised', () => {
  const { api } = useTestApi({ linked: true });
  const attachment = { type: 'document', base64: Buffer.from('a file').toString('base64'), filename: 'a.txt' };
  const send = (file = attachment) =>
    api.call('POST', '/send', { json: { to: '447700900123', attachment: file }, headers: { 'Idempotency-Key': 'k' } });
  const fileBytes = async () => Number(await api.store.redis.get(workspaceKeys(api.store.space, 'main').blobBytes));

  for (const [why, status, reply] of [
    ['another request under its key came in between', 409, async (): Promise<unknown> => [-1]],
    ['Redis has become full', 503, async (): Promise<unknown> => Promise.reject(new Error('OOM command not allowed'))],
  ] as const) {
    it(`is gone at once when ${why}`, async () => {
      const { store } = api;
      const { run } = store;
      store.run = async (name, keys, args) => (name === 'accept-send' ? reply() : run(name, keys, args));
      const answer = await send();
      store.run = run;
      expect(answer.status).to.equal(status);
      expect(await fileBytes()).to.equal(0);
    });
  }

  it('is gone ten minutes later when its process was killed; one that is promised lives as long as its send', async () => {
    const { store } = api;
    const { run } = store;
    const chunkTtls = async () => {
      const chunks = await store.redis.keys(`${store.space.prefix}:*:blob:*`);
      return Promise.all(chunks.map((key) => store.redis.pttl(key)));
    };
    const atAcceptance: number[] = [];
    store.run = async (name, keys, args) => {
      if (name === 'accept-send') atAcceptance.push(...(await chunkTtls()));
      return run(name, keys, args);
    };
    expect((await send()).status).to.equal(202);
    store.run = run;
    expect(atAcceptance).to.have.length(1);
    expect(atAcceptance[0]).to.be.within(9 * 60_000, 10 * 60_000);
    const promised = await chunkTtls();
    expect(promised).to.have.length(1);
    expect(promised[0]).to.be.above(24 * HOUR_MS);
  });

  it('is not promised by a repeat when it has gone meanwhile', async () => {
    const { store } = api;
    const { run } = store;
    // Killed between the record and the promise.
    store.run = async (name, keys, args) => {
      const written = await run(name, keys, args);
      return name === 'accept-send' ? Promise.reject(new Error('Connection is closed.')) : written;
    };
    expect((await send()).status).to.equal(503);
    store.run = run;
    const { acceptingSends } = deviceKeys(store.space, DEFAULT);
    const [messageId] = await store.redis.zrange(acceptingSends, '0', '-1');
    const { record } = sendKeys(store.space, DEFAULT, parseMessageId(messageId!)!.tag);
    await store.redis.hset(record, 'createdAtMs', Date.now() - HOUR_MS);
    expect((await send()).status).to.equal(503);
    await dropAbandonedSends(store, DEFAULT, { nowMs: Date.now() + HOUR_MS, hasJob: async () => false });
    expect((await send()).status, 'a first request again').to.equal(202);
  });
});

describe('a send whose record is dropped before it is opened', () => {
  const { api, space } = useTestApi({ linked: true });

  for (const [path, json] of [
    ['/send', { to: '447700900123', text: 'Hello' }],
    ['/otp', { phone: '447700900123', code: '482913' }],
  ] as const) {
    it(`is not promised to the caller of ${path}`, async () => {
      const { store } = api;
      const { run } = store;
      const dropped: string[] = [];
      // The request was frozen between its job and the promise, for so long that the owner gave the record up.
      store.run = async (name, keys, args) => {
        if (name === 'open-send') {
          dropped.push(
            ...(await store.redis.zrangebyscore(deviceKeys(store.space, DEFAULT).acceptingSends, '-inf', '+inf')),
          );
          await dropAbandonedSends({ ...store, run }, DEFAULT, {
            nowMs: Date.now() + HOUR_MS,
            hasJob: async () => false,
          });
        }
        return run(name, keys, args);
      };
      const { status, body } = await api.call('POST', path, { json });
      store.run = run;
      expect([status, body.success], JSON.stringify(body)).to.deep.equal([503, false]);
      expect(body).not.to.have.property('messageId');
      expect(dropped.map((messageId) => parseMessageId(messageId) !== undefined)).to.deep.equal([true]);
      expect(await space.clients.commands.zcard(deviceKeys(store.space, DEFAULT).openSends)).to.equal(0);
    });
  }
});
