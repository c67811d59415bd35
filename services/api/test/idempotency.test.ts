import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DeviceAddress } from '@gateway/contracts/ids';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { parseNetworks } from '@gateway/egress/address-rules';
import { setDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import { takeAccount } from '@gateway/store/devices/take-account';
import { acceptSendOnce, type NewSend } from '@gateway/store/sends/accepting/accept-send';
import { findRepeat, releaseRepeat } from '@gateway/store/sends/accepting/idempotency';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { acknowledgeSend, DEFAULT, linkDevice } from './support/device-owner.js';
import { type Answer, startTestApi, type TestApi } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const TEXT = { to: ['447700900001', '447700900002'], text: 'hello' };
const DRAFT: NewSend = {
  kind: 'text',
  content: { kind: 'text', text: 'hello' },
  parts: 1,
  recipients: ['447700900001'],
  owner: 't',
  requestId: 'r',
  nowMs: Date.now(),
  expiresAtMs: Date.now() + 1e9,
};

describe('Idempotency-Key', () => {
  const { space, api, owner } = useTestApi({ linked: true });

  const send = (key: string, json: unknown = TEXT, token?: string): Promise<Answer> =>
    api.call('POST', '/send', { json, headers: { 'idempotency-key': key }, ...(token && { token }) });
  const sends = () => listOpenSends(space.store, DEFAULT);
  /** As a request finds it that takes longer than it may have the key to itself. */
  async function placeOf(owner: string, callersKey: string, address = DEFAULT) {
    const found = await findRepeat(space.store, { owner, callersKey, address, isBound: false });
    if (found.kind === 'claimed') throw new Error('the key is being used');
    if (found.kind === 'free') await releaseRepeat(space.store, found.claim);
    return found;
  }

  it('gives the first answer again and sends nothing', async () => {
    const first = await send('order-7');
    expect(first.status).to.equal(202);
    expect(first.headers.get('idempotency-replayed')).to.equal(null);
    const other = await startTestApi(space);
    for (const replica of [api, other]) {
      const again = await replica.call('POST', '/send', {
        token: api.token,
        json: { text: TEXT.text, to: TEXT.to },
        headers: { 'idempotency-key': 'order-7' },
      });
      expect(again.status).to.equal(202);
      expect(again.body).to.deep.equal(first.body);
      expect(again.headers.get('idempotency-replayed')).to.equal('true');
    }
    expect(await sends()).to.have.length(1);
    await other.close();
  });

  it('knows a request again whose fields come in another order, at any depth', async () => {
    const { to, text } = TEXT;
    const [type, base64, caption] = ['document', 'AAAA', 'c'];
    const first = await send('order-7', { to, text, attachment: { type, base64, caption } });
    const again = await send('order-7', { attachment: { caption, base64, type }, text, to });
    expect([again.status, again.body]).to.deep.equal([202, first.body]);
    const reordered = await send('order-7', { to: [...to].reverse(), text, attachment: { type, base64, caption } });
    expect(reordered.status, 'the order of recipients is not that of fields').to.equal(422);
  });

  it('answers a repeat although the device is down by now', async () => {
    const first = await send('order-7');
    await owner.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
    expect((await send('order-7')).body).to.deep.equal(first.body);
    expect((await send('order-8')).status).to.equal(409);
  });

  it('refuses another request under the same key (422)', async () => {
    await send('order-7');
    const { status, body } = await send('order-7', { ...TEXT, text: 'bye' });
    expect(status).to.equal(422);
    expect(body).to.deep.equal({ success: false, error: 'Idempotency key was used with another request' });
    expect(await sends()).to.have.length(1);
  });

  it('is a matter of one token', async () => {
    const { value } = await api.newToken();
    const first = await send('order-7');
    const second = await send('order-7', TEXT, value);
    expect(second.status).to.equal(202);
    expect(second.body.messageId).not.to.equal(first.body.messageId);
  });

  it('accepts one of many simultaneous requests', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => send('order-7')));
    expect(await sends()).to.have.length(1);
    const accepted = answers.filter(({ status }) => status === 202);
    expect(accepted.length).to.be.at.least(1);
    expect(new Set(accepted.map(({ body }) => body.messageId)).size).to.equal(1);
    for (const { status, body, headers } of answers.filter((answer) => answer.status !== 202)) {
      expect(status).to.equal(409);
      expect(body).to.deep.equal({ success: false, error: 'A request with this idempotency key is in progress' });
      expect(headers.get('retry-after')).to.equal('1');
    }
  });

  it('keeps successes only', async () => {
    expect((await send('order-7', { to: 'x', text: 'hello' })).status).to.equal(400);
    await owner.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
    expect((await send('order-7')).status).to.equal(409);
    await owner.release();
    await linkDevice(space.store);
    expect((await send('order-7')).status).to.equal(202);
  });

  describe('when the first request died between its record and its answer', () => {
    /** What it leaves behind. */
    async function die(): Promise<string> {
      const { store } = api;
      const { run } = store;
      store.run = async (name, keys, args) => {
        const written = await run(name, keys, args);
        return name === 'accept-send' ? Promise.reject(new Error('Connection is closed.')) : written;
      };
      expect((await send('order-7')).status).to.equal(503);
      store.run = run;
      const [messageId] = await sends();
      return messageId!;
    }

    it('stands for its send, which goes out', async () => {
      const messageId = await die();
      const { status, body } = await send('order-7');
      expect([status, body.messageId]).to.deep.equal([202, messageId]);
      expect(await sends()).to.deep.equal([messageId]);
    });

    it('sends nothing of it from another account: it stands for a send that is cancelled', async () => {
      const take = (phone: string) => takeAccount(space.store, owner.ownership, { phone, nowMs: Date.now() });
      await take('447700900123');
      const messageId = await die();
      await take('447700900124');
      expect((await send('order-7')).body.messageId).to.equal(messageId);
      expect(await sends()).to.deep.equal([]);
      expect((await api.call('GET', `/messages/${messageId}`)).body.counts).to.include({ queued: 0, cancelled: 2 });
    });
  });

  it('is taken once, whichever of two requests comes first', async () => {
    const draft: NewSend = { ...DRAFT, nowMs: Date.now() };
    const { key } = await placeOf('t', 'k');
    const repeat = { key, fingerprint: Buffer.from('f'), answer: {} };
    expect(await acceptSendOnce(space.store, DEFAULT, draft, repeat)).not.to.equal(undefined);
    expect(await acceptSendOnce(space.store, DEFAULT, draft, repeat)).to.equal(undefined);
  });

  describe('while the first request fetches a file', () => {
    const files = createServer((_req, res) => void waiting.push(res));
    const waiting: ServerResponse[] = [];
    let replica: TestApi;
    let json: object;

    before(() => new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve)));
    after(() => files.close());
    beforeEach(async () => {
      const { port } = files.address() as AddressInfo;
      replica = await startTestApi(space, {
        fetchPolicy: { ports: [port], addresses: { allowed: parseNetworks('127.0.0.1/32') } },
      });
      json = { to: TEXT.to, attachment: { type: 'document', url: `http://127.0.0.1:${port}/offer` } };
    });
    afterEach(async () => {
      for (const res of waiting.splice(0)) res.destroy();
      await replica.close();
    });
    const ask = (body = json, signal?: AbortSignal) => {
      const headers = { 'idempotency-key': 'order-7' };
      return replica.call('POST', '/send', { token: api.token, json: body, headers, ...(signal && { signal }) });
    };
    const isFetching = () => eventually(async () => waiting.length > 0);

    it('keeps the key: further requests get 409 and fetch nothing', async () => {
      const first = ask();
      await isFetching();
      await linkDevice(space.store, { workspace: 'main', device: 'shop' });
      for (const device of ['default', 'shop']) {
        await setDefaultDevice(space.store, { workspace: 'main', device });
        for (const body of [json, TEXT]) {
          const { status, headers } = await ask(body);
          expect([status, headers.get('retry-after')]).to.deep.equal([409, '1']);
        }
      }
      expect(waiting).to.have.length(1);
      waiting[0]!.end('offer');
      const { status, body } = await first;
      expect(status).to.equal(202);
      expect((await ask()).body).to.deep.equal(body);
      expect((await ask(TEXT)).status).to.equal(422);
      expect(waiting).to.have.length(1);
    });

    it('gives the key back when it fails, or its caller leaves', async () => {
      const failed = ask();
      await isFetching();
      waiting.pop()!.writeHead(404).end();
      expect((await failed).status).to.equal(400);
      const caller = new AbortController();
      const left = ask(json, caller.signal).catch(() => 'gone');
      await isFetching();
      waiting.pop();
      caller.abort();
      expect(await left).to.equal('gone');
      expect(await eventually(async () => [await ask(TEXT)].find(({ status }) => status === 202))).to.be.an('object');
    });

    it('gives the key back within 20 s when its process dies', async () => {
      void ask().catch(() => undefined);
      await isFetching();
      const [claim] = await space.store.redis.keys(`${space.prefix}:*idempotency-claim:*`);
      expect(await space.store.redis.pttl(claim!)).to.be.within(10_000, 20_000);
    });
  });

  describe('of a token without a device, while the default device changes', () => {
    const SHOP = { workspace: 'main', device: 'shop' };
    const BRANCH = { workspace: 'main', device: 'branch' };
    const allSends = async () =>
      (await Promise.all([DEFAULT, SHOP, BRANCH].map((device) => listOpenSends(space.store, device)))).flat();
    const makeDefault = ({ device }: DeviceAddress) => setDefaultDevice(space.store, { workspace: 'main', device });
    const find = (address: DeviceAddress) => placeOf('t', 'k', address);
    const accept = (address: DeviceAddress, { key }: { key: string }) =>
      acceptSendOnce(space.store, address, DRAFT, { key, fingerprint: Buffer.from('f'), answer: {} });

    beforeEach(async () => {
      await linkDevice(space.store, SHOP);
      await linkDevice(space.store, BRANCH);
    });

    it('gives the first answer again, whichever device sent it', async () => {
      const first = await send('order-7');
      for (const device of [SHOP, BRANCH, DEFAULT]) {
        await makeDefault(device);
        const again = await send('order-7');
        expect([again.status, again.body]).to.deep.equal([202, first.body]);
        expect(again.headers.get('idempotency-replayed')).to.equal('true');
        expect((await send('order-7', { ...TEXT, text: 'bye' })).status).to.equal(422);
      }
      expect(await allSends()).to.deep.equal([first.body.messageId]);
      expect((await send('order-8')).status).to.equal(202);
    });

    it('sends once more only what was not sent: from the new device, under the same key', async () => {
      await owner.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
      expect((await send('order-7')).status).to.equal(409);
      await makeDefault(SHOP);
      const first = await send('order-7');
      expect(first.status).to.equal(202);
      expect(await listOpenSends(space.store, SHOP)).to.deep.equal([first.body.messageId]);
      await makeDefault(BRANCH);
      expect((await send('order-7')).body).to.deep.equal(first.body);
      expect(await allSends()).to.have.length(1);
    });

    it('answers the repeat of an OTP from the device that sent it', async () => {
      const otp = () =>
        api.call('POST', '/otp', {
          json: { phone: '447700900001', code: '482913' },
          headers: { 'idempotency-key': 'login-7' },
        });
      const [first] = await Promise.all([
        otp(),
        eventually(async () => (await sends())[0]).then((id) => acknowledgeSend(space.store, owner, id)),
      ]);
      await makeDefault(SHOP);
      const again = await otp();
      expect([again.status, again.body]).to.deep.equal([200, first.body]);
      expect(await allSends()).to.deep.equal([]);
    });

    it('refuses a request that found the key before it moved', async () => {
      const early = await find(DEFAULT);
      const late = await find(SHOP);
      expect(late.address).to.deep.equal(SHOP);
      expect(await accept(DEFAULT, early)).to.equal(undefined);
      const accepted = await accept(SHOP, late);
      expect(await find(DEFAULT))
        .to.deep.include({ address: SHOP })
        .and.have.property('first');
      expect(await allSends()).to.deep.equal([accepted?.messageId]);
    });

    it('lets a key that was not used go back and forth', async () => {
      const seen = [
        await find(DEFAULT),
        await find(SHOP),
        await find(DEFAULT),
        await find(BRANCH),
        await find(DEFAULT),
      ];
      const last = seen.pop()!;
      for (const { address, key } of seen) expect(await accept(address, { key })).to.equal(undefined);
      expect(await accept(DEFAULT, last)).not.to.equal(undefined);
    });

    it('goes on where a process died in the middle of a move', async () => {
      const { key } = await find(DEFAULT);
      // It closed the key where it lay, and wrote down no other place.
      await space.store.run('close-repeat', [key, deviceKeys(space.store.space, DEFAULT).device], [60_000]);
      const place = await find(DEFAULT);
      expect(place.address).to.deep.equal(DEFAULT);
      expect(await accept(DEFAULT, place)).not.to.equal(undefined);
    });

    it('sends once, however many ask two replicas before, during and after the change', async () => {
      const other = await startTestApi(space);
      let isOver = false;
      const changes = (async () => {
        for (let i = 0; !isOver; i++) await makeDefault([SHOP, BRANCH, DEFAULT][i % 3]!);
      })();
      for (let round = 1; round <= 10; round++) {
        const { value: token } = await api.newToken();
        const ask = (replica = api) => {
          const headers = { 'idempotency-key': 'order-7' };
          return replica.call('POST', '/send', { token, json: TEXT, headers });
        };
        const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => ask(i % 2 ? api : other)));
        for (const { status } of answers) expect(status).to.be.oneOf([202, 409]);
        answers.push(await eventually(async () => [await ask()].find(({ status }) => status === 202)));
        const accepted = answers.filter(({ status }) => status === 202);
        expect(new Set(accepted.map(({ body }) => body.messageId)).size).to.equal(1);
        expect(await allSends()).to.have.length(round);
      }
      isOver = true;
      await changes;
      await other.close();
    });
  });

  it('lives for 24 hours and holds neither key, numbers nor text', async () => {
    await send('order-secret-7');
    const [key] = await space.store.redis.keys(`${space.prefix}:*idempotency:*`);
    expect(key).not.to.include('secret');
    expect(await space.store.redis.ttl(key!)).to.be.within(86_390, 86_400);
    const stored = JSON.stringify(await space.store.redis.hgetall(key!));
    expect(stored).not.to.match(/hello|4477|secret/);
  });

  it('refuses keys that are none (400)', async () => {
    for (const key of ['', 'a b', 'x'.repeat(256)]) {
      const { status, body } = await send(key);
      expect(status).to.equal(400);
      expect(body.details).to.deep.equal([
        { path: ['Idempotency-Key'], message: 'must be 1 to 255 printable characters without spaces' },
      ]);
    }
  });
});
