import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { LOG_START } from '@gateway/contracts/events/cursor';
import { escapeId } from '@gateway/contracts/events/event-id';
import { parseNetworks } from '@gateway/egress/address-rules';
import { createLogger } from '@gateway/runtime/logs/logger';
import { openEvents } from '@gateway/store/events/open-events';
import { type LogPart, readLog } from '@gateway/store/events/read-log';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { claimDelivery, takeWebhook } from '@gateway/store/webhooks/delivering/deliveries';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { findFullOutboxes } from '@gateway/testkit/find-full-outboxes';
import { expect } from 'chai';
import { Webhook } from 'standardwebhooks';
import { linkDevice } from './support/device-owner.js';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const SECRET_PATH = '/hooks/a-token-in-the-path';
const SECRET_HEADER = 'Basic c2VjcmV0LWhlYWRlcg==';

interface Received {
  headers: IncomingHttpHeaders;
  body: string;
}

describe('webhook endpoints', () => {
  const log = new PassThrough();
  let lines = '';
  log.on('data', (piece) => {
    lines += piece;
  });
  const { space, api } = useTestApi({
    once: true,
    webhookPolicy: { isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
    logger: createLogger({ service: 'api', level: 'debug', destination: log }),
  });
  let receiver: Server;
  let received: Received[];
  let status: number;
  let token: string;

  before(async () => {
    receiver = createServer(async (req, res) => {
      received.push({ headers: req.headers, body: await text(req) });
      res.writeHead(status, { location: 'http://169.254.169.254/' }).end('thanks');
    });
    await once(receiver.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => receiver.close());
  beforeEach(async () => {
    received = [];
    status = 200;
    token = (await api.newToken({ scopes: ['webhooks'] })).value;
  });

  const call = (method: string, path: string, json?: object) =>
    api.call(method, path, { token, ...(json && { json }) });
  const urlOf = (path = SECRET_PATH) => `http://127.0.0.1:${(receiver.address() as AddressInfo).port}${path}`;
  async function create(options: object = {}) {
    const { status, body } = await call('POST', '/webhooks', { url: urlOf(), ...options });
    expect(status, JSON.stringify(body)).to.equal(201);
    return { ...(body as { webhookId: string; secret: string; status: string }), path: `/webhooks/${body.webhookId}` };
  }
  const verify = (secret: string, { headers, body }: Received) =>
    new Webhook(secret).verify(body, headers as Record<string, string>) as Record<string, unknown>;

  it('are unverified until they answer the test with a 2xx, which the official library verifies', async () => {
    const { path, secret, webhookId, status: first } = await create({ headers: { Authorization: SECRET_HEADER } });
    expect(first).to.equal('unverified');
    for (const refused of [500, 302, 410]) {
      status = refused;
      const { body } = await call('POST', `${path}/test`);
      expect(body).to.include({ delivered: false, status: refused, webhookStatus: 'unverified', answer: 'thanks' });
    }
    status = 204;
    expect((await call('POST', `${path}/test`)).body).to.include({ delivered: true, webhookStatus: 'active' });
    expect(received).to.have.length(4);
    const event = verify(secret, received[3]!);
    expect(event).to.include({ type: 'webhook.test', version: 1, id: received[3]!.headers['webhook-id'] });
    expect(event.data).to.deep.equal({ webhookId });
    expect(received[3]!.headers).to.include({ authorization: SECRET_HEADER, 'content-type': 'application/json' });
    const { deliveries } = (await call('GET', `${path}/deliveries?limit=3`)).body as { deliveries: object[] };
    expect(deliveries.map((each) => (each as { status: number }).status)).to.deep.equal([204, 410, 302]);
  });

  it('are shown without secret and values of headers, and changed in part', async () => {
    const { path } = await create({ headers: { 'X-Key': 'k' }, types: ['send.finished'] });
    expect((await call('PATCH', path, { gatherSeconds: 5, devices: ['phone-1'] })).status).to.equal(200);
    const { body } = await call('GET', path);
    expect(body).to.deep.include({
      types: ['send.finished'],
      devices: ['phone-1'],
      gatherSeconds: 5,
      headers: ['X-Key'],
    });
    expect(body).not.to.have.any.keys('secret', 'secrets');
    expect((await call('PATCH', path, { devices: null })).body).to.include({ devices: null, content: 'full' });
    const { body: list } = await call('GET', '/webhooks');
    expect((list.webhooks as object[]).at(-1)).to.deep.include({ gatherSeconds: 5 });
  });

  it('keep what each of forty callers changes at the same time', async () => {
    const { path } = await create();
    const changes = Array.from({ length: 40 }, (_, i) =>
      i % 2 ? { description: `${i}` } : { gatherSeconds: 1 + (i % 10) },
    );
    const answers = await Promise.all(changes.map((change) => call('PATCH', path, change)));
    expect(answers.map((answer) => answer.status)).to.deep.equal(changes.map(() => 200));
    for (const [i, { body }] of answers.entries()) expect(body).to.include(changes[i]!);
  });

  it('are tested five at a time for a token: others of it wait', async () => {
    const held: (() => void)[] = [];
    const slow = createServer((_req, res) => void held.push(() => res.end()));
    await once(slow.listen(0, '127.0.0.1'), 'listening');
    const { path } = await create({ url: `http://127.0.0.1:${(slow.address() as AddressInfo).port}/` });
    const tests = Array.from({ length: 8 }, () => call('POST', `${path}/test`));
    await eventually(() => held.length === 5);
    const other = (await api.newToken({ scopes: ['webhooks'] })).value;
    tests.push(api.call('POST', `${path}/test`, { token: other }));
    await eventually(() => held.length === 6);
    for (let answered = 0; answered < tests.length; answered++) {
      await eventually(() => held.length > answered);
      held[answered]!();
    }
    expect((await Promise.all(tests)).map(({ body }) => body.delivered)).to.deep.equal(tests.map(() => true));
    slow.close();
  });

  it('must pass the test again at another URL, also after a pause', async () => {
    const { path } = await create();
    await call('POST', `${path}/test`);
    expect((await call('PATCH', path, { description: 'ours' })).body.status).to.equal('active');
    expect((await call('PATCH', path, { url: urlOf(), headers: {} })).body.status, 'where it was').to.equal('active');
    expect((await call('PATCH', path, { url: urlOf('/other') })).body).to.include({
      status: 'unverified',
      verifiedAt: null,
    });
    await call('POST', `${path}/test`);
    expect((await call('POST', `${path}/pause`)).body.status).to.equal('paused');
    await call('PATCH', path, { headers: { 'X-Shop': 'ours' } });
    expect((await call('GET', path)).body.status).to.equal('paused');
    expect((await call('POST', `${path}/resume`)).body.status).to.equal('unverified');
    await call('POST', `${path}/test`);
    expect((await call('POST', `${path}/resume`)).body.status).to.equal('active');
  });

  it('get another secret, and requests with both signatures while the old one goes on', async () => {
    const { path, secret } = await create();
    const { body } = await call('POST', `${path}/rotate`, {});
    expect(Date.parse(String(body.rotatedUntil))).to.be.closeTo(Date.now() + 24 * 3_600_000, 60_000);
    await call('POST', `${path}/test`);
    for (const each of [secret, String(body.secret)]) verify(each, received[0]!);
    const { body: last } = await call('POST', `${path}/rotate`, { overlapHours: 0 });
    expect(last.rotatedUntil).to.equal(null);
    await call('POST', `${path}/test`);
    verify(String(last.secret), received[1]!);
    expect(() => verify(String(body.secret), received[1]!)).to.throw(/signature/);
    expect(() => verify(secret, received[1]!)).to.throw(/signature/);
    const asymmetric = await create({ signature: 'v1a' });
    expect(asymmetric.secret).to.match(/^whpk_/);
  });

  it('cannot lead to networks that are not allowed, nor carry headers that are ours', async () => {
    const refused: [object, string][] = [
      [{ url: 'https://169.254.169.254/' }, 'url'],
      [{ url: 'http://1.1.1.1/' }, 'url'],
      [{ url: 'https://10.0.0.1/' }, 'url'],
      [{ url: 'https://user:pass@example.com/' }, 'url'],
      [{ url: 'ftp://example.com/' }, 'url'],
      [{ url: 'nonsense' }, 'url'],
      [{ url: 'https://example.com:0/' }, 'url'],
      [{ url: 'https://./' }, 'url'],
      [{ url: 'https://a..b/' }, 'url'],
      [{ url: `https://${'a'.repeat(64)}.com/` }, 'url'],
      [{ url: `https://${'a.'.repeat(126)}com/` }, 'url'],
      [{ headers: { 'Webhook-Id': 'x' } }, 'headers'],
      [{ headers: { 'Content-Length': '1' } }, 'headers'],
      [{ headers: { Host: 'x' } }, 'headers'],
      [{ headers: { 'X-A': 'b\r\nX-C: d' } }, 'headers'],
      [{ types: ['message.*'] }, 'types'],
      [{ gatherSeconds: 301 }, 'gatherSeconds'],
    ];
    const { path } = await create({ url: 'http://127.0.0.1:1/' });
    for (const [body, field] of refused) {
      for (const answer of [
        await call('POST', '/webhooks', { url: urlOf(), ...body }),
        await call('PATCH', path, body),
      ]) {
        expect(answer.status, JSON.stringify(body)).to.equal(400);
        expect((answer.body.details as { path: string[] }[])[0]!.path[0]).to.equal(field);
      }
    }
    const fields = 'url, headers, description, types, devices, content, numbers, gatherSeconds, order, concurrency';
    const { details } = (await call('PATCH', path, {})).body;
    expect(details).to.deep.equal([{ path: [], message: `must contain at least one of [${fields}]` }]);
    const longest = `https://${'a.'.repeat(125)}com./`;
    expect((await call('PATCH', path, { url: longest })).body.url).to.equal(longest);
    await call('PATCH', path, { url: 'http://127.0.0.1:1/' });
    const { body } = await call('POST', `${path}/test`);
    expect(body).to.include({ delivered: false, status: null, error: 'connection', webhookStatus: 'unverified' });
  });

  it('make nothing happen where they lead to the API itself, with a token that may all', async () => {
    const { value } = await api.newToken({ scopes: ['webhooks', 'send', 'otp', 'connect', 'opt-outs'] });
    const { path } = await create({ headers: { Authorization: `Bearer ${value}` } });
    for (const end of [
      `${path}/test`,
      `${path}/rotate`,
      `${path}/pause`,
      '/send',
      '/otp',
      '/disconnect',
      '/opt-outs',
    ]) {
      await call('PATCH', path, { url: `${api.origin}${BASE}${end}` });
      const { body } = await call('POST', `${path}/test`);
      expect([body.status, body.webhookStatus], end).to.deep.equal([400, 'unverified']);
    }
    const { deliveries } = (await call('GET', `${path}/deliveries`)).body as { deliveries: object[] };
    expect(deliveries, 'none of a test that a test has asked for').to.have.length(7);
    await call('DELETE', path);
  });

  it('list what they refuse, page by page, and are told events once more', async () => {
    const { path, webhookId } = await create();
    const place = { workspace: 'main', id: webhookId };
    await call('POST', `${path}/test`);
    const taken = await takeWebhook(space.store, place, { processId: 'process-1', sessionMs: 60_000 });
    if (typeof taken === 'string') throw new Error(taken);
    const changes = ['a', 'b', 'c', 'b'].map((key, n) => {
      return { what: 'add', key, event: { entry: '1-1', id: `evt_${n}`, type: 'send.finished' } } as const;
    });
    const clock = { failures: 2, sinceMs: 1, lastStatus: 422 };
    const write = { lane: 'prompt', state: { cursor: '1-0' }, nowMs: 1_000 } as const;
    await claimDelivery(space.store, taken, { ...write, changes: [...changes, { what: 'wait', key: 'b', clock }] });
    const { body: first } = await call('GET', `${path}/parked?limit=2`);
    const { body: second } = await call('GET', `${path}/parked?limit=2&after=${first.nextCursor}`);
    expect(second.nextCursor).to.equal(null);
    const since = new Date(1_000).toISOString();
    const common = { type: 'send.finished', device: null, since };
    expect([...(first.parked as object[]), ...(second.parked as object[])]).to.deep.equal([
      { ...common, id: 'evt_0', attempts: 0, lastStatus: null, nextAttemptAt: since, waiting: 0 },
      { ...common, id: 'evt_1', attempts: 2, lastStatus: 422, nextAttemptAt: null, waiting: 1 },
      { ...common, id: 'evt_2', attempts: 0, lastStatus: null, nextAttemptAt: since, waiting: 0 },
    ]);
    const longest = `evt_k3m9x2pq_${escapeId('_'.repeat(100))}_received`;
    const replayed = await call('POST', `${path}/replay`, { ids: ['evt_1', 'evt_9', longest] });
    expect([replayed.status, replayed.body.webhookId, replayed.body.unknown]).to.deep.equal([
      202,
      webhookId,
      ['evt_9', longest],
    ]);
    const { body: now } = await call('GET', `${path}/parked`);
    expect((now.parked as object[])[1]).to.include({ id: 'evt_1', attempts: 0, waiting: 1 });
    const times = { after: '2026-01-01T00:00:00Z', before: '2026-01-02T00:00:00Z' };
    expect((await call('POST', `${path}/replay`, times)).status).to.equal(202);
    expect((await call('POST', `${path}/replay`, { after: '1970-01-01T00:00:00Z' })).status).to.equal(202);
    for (const wrong of [
      {},
      { ids: [] },
      { ids: ['a'], after: times.after },
      { before: times.before },
      { after: 'x' },
      { after: '2026' },
      { after: '2026-02-30T00:00:00Z' },
      { after: '2026-11-21T19:00:00' },
      { after: times.after, before: '2026-01-02 00:00' },
      { after: times.after, before: times.after },
      { after: times.before, before: times.after },
      { after: '2999-01-01T00:00:00Z' },
      { after: '2999-01-01T00:00:00Z', before: '2999-01-02T00:00:00Z' },
    ]) {
      expect((await call('POST', `${path}/replay`, wrong)).status, JSON.stringify(wrong)).to.equal(400);
    }
    expect((await call('GET', `${path}/parked?after=x`)).status).to.equal(400);
    await call('DELETE', path);
  });

  it('list of which device that is which they refuse, also where it is told alone', async () => {
    const { path, webhookId } = await create();
    await call('POST', `${path}/test`);
    await openEvents(space.store, 'main');
    const owner = await linkDevice(space.store);
    for (const full of await findFullOutboxes(space.store, 'main')) await relayOutbox(space.store, full);
    await addOptOuts(space.store, 'main', { numbers: ['447700900002'], source: 'api', atMs: 1 });
    const { entries } = (await readLog(space.store, 'main', LOG_START, { limit: 100 })) as LogPart;
    const [ofDevice, ofNone] = entries.slice(-2).map(({ id }) => id) as [string, string];
    const taken = await takeWebhook(
      space.store,
      { workspace: 'main', id: webhookId },
      { processId: 'p', sessionMs: 60_000 },
    );
    if (typeof taken === 'string') throw new Error(taken);
    const put = [
      { entry: ofDevice, type: 'device.connected' },
      { entry: ofDevice, type: 'messages.updated', device: 'default' },
      { entry: ofDevice, type: 'events.gap' },
      { entry: ofNone, type: 'optout.added' },
      { entry: '1-1', type: 'message.received' },
    ];
    const changes = put.map(
      (event, n) => ({ what: 'add', key: `k${n}`, event: { ...event, id: `evt_${n}` } }) as const,
    );
    await claimDelivery(space.store, taken, { lane: 'prompt', state: { cursor: '1-0' }, nowMs: 1_000, changes });
    const { parked } = (await call('GET', `${path}/parked`)).body as { parked: { device: string | null }[] };
    expect(parked.map((each) => each.device)).to.deep.equal(['default', 'default', null, null, null]);
    await call('DELETE', path);
    await owner.release();
  });

  it('are 50 in a workspace at most', async () => {
    const { webhooks } = (await call('GET', '/webhooks')).body as { webhooks: unknown[] };
    token = (await api.newToken({ scopes: ['webhooks'] })).value;
    const wanted = Array.from({ length: 51 - webhooks.length }, () => call('POST', '/webhooks', { url: urlOf() }));
    const statuses = (await Promise.all(wanted)).map((each) => each.status).sort();
    expect(statuses.slice(-2)).to.deep.equal([201, 422]);
    for (const { webhookId } of (await call('GET', '/webhooks')).body.webhooks as { webhookId: string }[]) {
      token = (await api.newToken({ scopes: ['webhooks'] })).value;
      expect((await call('DELETE', `/webhooks/${webhookId}`)).body.deleted).to.equal(true);
    }
    expect((await call('GET', '/webhooks')).body.webhooks).to.deep.equal([]);
  });

  it('leave no URL, secret or header in Redis and in logs', async () => {
    const { path, secret } = await create({ headers: { Authorization: SECRET_HEADER } });
    await call('POST', `${path}/test`);
    await call('POST', `${path}/rotate`, {});
    const { redis } = space.store;
    let dump = '';
    for (const key of await redis.keys(`${space.prefix}:*webhook*`)) {
      const kind = await redis.type(key);
      if (kind === 'hash') dump += JSON.stringify([key, await redis.hgetall(key)]);
      else dump += key;
    }
    expect(dump).to.include('active');
    expect(lines).to.include('webhook tested').and.include('127.0.0.1');
    for (const hidden of [SECRET_PATH, SECRET_HEADER, secret, secret.slice(6), 'thanks']) {
      expect(dump, 'Redis').not.to.include(hidden);
      expect(lines, 'log').not.to.include(hidden);
    }
    await call('DELETE', path);
    expect(await redis.keys(`${space.prefix}:*webhook*:*${path.slice(10)}*`)).to.deep.equal([]);
  });
});
