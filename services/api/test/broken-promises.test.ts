import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { GatewayError } from '@gateway/runtime/errors';
import { listOpenSends } from '@gateway/store/sends/open-sends';
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

  it('is gone at once when no replica has it, and a first request is as before', async () => {
    const { store } = api;
    const { confirmWrites } = store;
    store.confirmWrites = async (key, since) => {
      if (key.includes(':blob')) throw new GatewayError({ code: 'not_confirmed', message: 'no replica has it' });
      return confirmWrites(key, since);
    };
    const { status, body } = await send();
    store.confirmWrites = confirmWrites;
    expect(status).to.equal(503);
    expect(body.error).not.to.include('may still happen');
    expect(await fileBytes()).to.equal(0);
    expect(await listOpenSends(store, DEFAULT)).to.deep.equal([]);
    expect((await send()).status).to.equal(202);
  });

  it('is gone ten minutes later when its process was killed; from before there is a send it lives as long as that', async () => {
    const { store } = api;
    const { run } = store;
    const chunkTtls = async () => {
      const chunks = await store.redis.keys(`${store.space.prefix}:*:blob:*`);
      return Promise.all(chunks.map((key) => store.redis.pttl(key)));
    };
    const ttls: Record<string, number[]> = {};
    store.run = async (name, keys, args) => {
      ttls[name] = await chunkTtls();
      return run(name, keys, args);
    };
    expect((await send()).status).to.equal(202);
    store.run = run;
    expect(ttls['keep-blob']).to.have.length(1);
    expect(ttls['keep-blob']![0]).to.be.within(9 * 60_000, 10 * 60_000);
    expect(ttls['accept-send']).to.have.length(1);
    expect(ttls['accept-send']![0], 'a 202 never outlives its file').to.be.above(24 * HOUR_MS);
  });

  it('is not accepted when its file has gone meanwhile', async () => {
    const { store } = api;
    const { run } = store;
    store.run = async (name, keys, args) => (name === 'keep-blob' ? 0 : run(name, keys, args));
    expect((await send()).status).to.equal(503);
    store.run = run;
    expect(await listOpenSends(store, DEFAULT)).to.deep.equal([]);
    expect((await send()).status, 'a first request again').to.equal(202);
  });

  it('is still there, with its send, when only the reply of Redis was lost: a repeat is told of that send', async () => {
    const { store } = api;
    const { run } = store;
    store.run = async (name, keys, args) => {
      const written = await run(name, keys, args);
      return name === 'accept-send' ? Promise.reject(new Error('Connection is closed.')) : written;
    };
    expect((await send()).status).to.equal(503);
    store.run = run;
    const [messageId] = await listOpenSends(store, DEFAULT);
    const { status, body } = await send();
    expect([status, body.messageId]).to.deep.equal([202, messageId]);
    expect(await listOpenSends(store, DEFAULT)).to.deep.equal([messageId]);
    expect(await fileBytes()).to.be.above(0);
  });
});
