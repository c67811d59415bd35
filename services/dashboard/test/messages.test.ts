import { parseMessageId } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { defer } from '@gateway/runtime/deferred';
import { listAudit } from '@gateway/store/console/audit';
import { readIdKey } from '@gateway/store/devices/devices';
import { claimRecipient, recordResults } from '@gateway/store/sends/change-send';
import { addOptOuts } from '@gateway/store/workspace/opt-outs';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { type DeviceOwner, linkDevice } from '../../api/test/support/device-owner.js';
import { startTestApi, type TestApi } from '../../api/test/support/test-api.js';
import { openStream } from './support/live-stream.js';
import { type Browser, startTestDashboard, type TestDashboard } from './support/test-dashboard.js';

const PEOPLE = ['447700900001', '447700900002', '447700900003'];

describe('messages in the console', () => {
  let space: RedisSpace;
  let api: TestApi;
  let dashboard: TestDashboard;
  let operator: Browser;
  let viewer: Browser;
  let owner: DeviceOwner;
  before(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space, { waits: { otpMs: 50 } });
    dashboard = await startTestDashboard(space, { apiUrl: api.origin });
    [operator, viewer] = [await dashboard.signIn('operator'), await dashboard.signIn('viewer')];
    owner = await linkDevice(space.store, { workspace: 'main', device: 'shop' });
  });
  after(async () => {
    await dashboard.close();
    await api.close();
    await space.close();
  });

  const send = (key: string, message: object = { to: PEOPLE, text: 'our offer' }) =>
    operator.post('/messages', { device: 'shop', key, message });
  const settle = async (id: string, recipient: number, event: 'acked' | 'failed', errorCode = 0) => {
    const { tag } = parseMessageId(id)!;
    const nowMs = Date.now();
    await claimRecipient(space.store, owner.ownership, { tag, recipient, part: 0, nowMs });
    const events = [{ recipient, part: 0, event, errorCode }];
    await recordResults(space.store, owner.ownership, { tag, nowMs, events });
  };

  it('are read for a user four times at once, and for others meanwhile; of many more some are refused', async () => {
    const { redis } = dashboard.store;
    const read = redis.xrevrange.bind(redis);
    let [reading, most] = [0, 0];
    const turn = defer<void>();
    redis.xrevrange = (async (...args: Parameters<typeof read>) => {
      most = Math.max(most, ++reading);
      await turn.promise;
      return read(...args).finally(() => reading--);
    }) as typeof read;
    let refused = 0;
    const ask = async () => {
      const { status } = await viewer.get('/messages');
      if (status === 429) refused++;
      return status;
    };
    const asked = Array.from({ length: 120 }, ask);
    await eventually(() => reading === 4 && refused === 16);
    const others = operator.get('/messages');
    await eventually(() => reading === 5);
    turn.resolve();
    expect((await others).status).to.equal(200);
    const statuses = await Promise.all(asked);
    expect([most, statuses.filter((status) => status === 200).length]).to.deep.equal([5, 104]);
    expect(new Set(statuses)).to.deep.equal(new Set([200, 429]));
    redis.xrevrange = read;
  });

  it('go out through the API, once for each form, and are listed, whichever token made them', async () => {
    const { status, body } = await send('form-1');
    expect(status).to.equal(202);
    expect((await send('form-1')).body.messageId).to.equal(body.messageId);
    const replica = await startTestDashboard(space, { apiUrl: api.origin });
    const elsewhere = await replica.signIn('operator');
    const repeat = { device: 'shop', key: 'form-1', message: { to: PEOPLE, text: 'our offer' } };
    expect((await elsewhere.post('/messages', repeat)).body.messageId, 'by another replica').to.equal(body.messageId);
    await replica.close();
    const { value: token } = await api.newToken({ device: 'shop' });
    const others = await api.call('POST', '/send', { token, json: { to: PEOPLE[0], text: 'by a program' } });
    const listed = await viewer.get('/messages?device=shop');
    expect(listed.body.messages.map(({ messageId }: { messageId: string }) => messageId)).to.deep.equal([
      others.body.messageId,
      body.messageId,
    ]);
    expect(listed.body.messages[1]).to.include({ device: 'shop', kind: 'text', status: 'queued', total: 3 });
    expect((await viewer.get('/messages?status=failed')).body.messages).to.deep.equal([]);
    expect((await viewer.get('/messages?status=none')).status).to.equal(400);
    expect((await listAudit(space.store))[0]).to.include({
      user: 'operator',
      action: 'message.sent',
      target: body.messageId,
    });
    await operator.post(`/messages/${others.body.messageId}/cancel`);
    expect((await viewer.get('/messages?status=cancelled')).body.messages).to.have.length(1);
  });

  it('begin in lists with their first words, a one-time password with none, for those who may send', async () => {
    const long = `${'wide 🙂\n'.repeat(40)}end`;
    const { messageId } = (await send('form-words', { to: PEOPLE, text: long })).body;
    const { value: token } = await api.newToken({ device: 'shop', scopes: ['otp'] });
    await api.call('POST', '/otp', { token, json: { phone: PEOPLE[0], code: '730541' } }).catch(() => {});
    const begins = 'wide 🙂 '.repeat(40);
    const [otp, first] = (await operator.get('/messages?device=shop')).body.messages;
    expect(first).to.include({ messageId, begins: `${[...begins].slice(0, 80).join('')}…` });
    expect(otp.kind).to.equal('otp');
    expect(otp).not.to.have.property('begins');
    for (const { text } of [await viewer.get('/messages'), await operator.get('/messages?kind=otp')]) {
      expect(text).not.to.match(/begins|730541/);
    }
    const [live, masked] = [await openStream(operator, 'messages'), await openStream(viewer, 'messages')];
    for (const [stream, words] of [
      [live, true],
      [masked, false],
    ] as const) {
      const listed = await stream.wait<{ messageId: string; begins?: string }[]>('messages', () => true);
      expect(listed.some((each) => each.begins !== undefined)).to.equal(words);
      stream.close();
    }
    const { tag } = parseMessageId(messageId)!;
    await space.store.redis.unlink(sendKeys(space.store.space, { workspace: 'main', device: 'shop' }, tag).content);
    const [, forgotten] = (await operator.get('/messages?device=shop')).body.messages;
    expect(forgotten).to.include({ messageId }).and.not.to.have.property('begins');
  });

  it('show who got them and why others did not, with masked numbers and no words to a viewer', async () => {
    const { messageId } = (await send('form-2')).body;
    await settle(messageId, 0, 'acked');
    await settle(messageId, 1, 'failed', 463);
    const { message } = (await viewer.get(`/messages/${messageId}`)).body;
    expect(message).to.include({ status: 'sending', statuses: '140', total: 3 });
    const rows = (await operator.get(`/messages/${messageId}/recipients?at=1,2`)).body.recipients;
    expect(rows.map(({ atMs: _, ...row }: { atMs: number }) => row)).to.deep.equal([
      { index: 1, to: PEOPLE[1], status: 'failed', error: 'network_463' },
      { index: 2, to: PEOPLE[2], status: 'queued' },
    ]);
    expect((await viewer.get(`/messages/${messageId}/recipients?at=2`)).text).not.to.include(PEOPLE[2]);
    expect((await operator.get(`/messages/${messageId}/content`)).body.content).to.deep.equal({ text: 'our offer' });
    expect((await viewer.get(`/messages/${messageId}/content`)).status).to.equal(403);
    const found = await operator.post('/messages/find', { phone: '+44 7700 900002' });
    expect(found.body.messages[0]).to.include({ messageId, recipient: 1 });
    expect((await operator.post('/messages/find', { phone: 'x' })).status).to.equal(400);
    const idKey = await readIdKey(space.store, owner.ownership.address);
    const networkId = platformIds(idKey!).make({ tag: parseMessageId(messageId)!.tag, recipient: 2, part: 0 });
    const byId = await operator.post('/messages/find', { networkId: networkId.toLowerCase() });
    expect(byId.body.messages[0]).to.include({ messageId, recipient: 2 });
    for (const other of [
      '3EB0000000000000000000',
      'nonsense',
      platformIds(idKey!).make({ tag: '0'.repeat(13), recipient: 0, part: 0 }),
    ]) {
      expect((await operator.post('/messages/find', { networkId: other })).body.messages, other).to.deep.equal([]);
    }
    expect((await operator.post('/messages/find', {})).status).to.equal(400);
    expect((await viewer.post('/messages/find', { networkId })).status).to.equal(403);
    expect((await viewer.get('/devices/shop/history')).body.history[0]).to.include({ status: 'connected' });
    for (const path of ['/messages/msg_x', `/messages/${messageId}/recipients?at=x`]) {
      expect((await operator.get(path)).status, path).to.be.within(400, 404);
    }
  });

  it('never show what a one-time password says', async () => {
    const { value: token } = await api.newToken({ device: 'shop', scopes: ['otp'] });
    await api.call('POST', '/otp', { token, json: { phone: PEOPLE[0], code: '482913' } }).catch(() => {});
    const [otp] = (await operator.get('/messages?kind=otp')).body.messages;
    expect((await operator.get(`/messages/${otp.messageId}/content`)).body.content).to.deep.equal({});
  });

  it('are told live how far they are', async () => {
    const { messageId } = (await send('form-3')).body;
    const stream = await openStream(viewer, `send.${messageId}`);
    try {
      await stream.wait(`send.${messageId}`, ({ statuses }: { statuses: string }) => statuses === '000');
      await settle(messageId, 2, 'acked');
      await stream.wait(`send.${messageId}`, ({ statuses }: { statuses: string }) => statuses === '001');
    } finally {
      stream.close();
    }
  });

  it('say before they are sent who has opted out, and when they would be through', async () => {
    await addOptOuts(space.store, 'main', { numbers: [PEOPLE[1]!], source: 'api', atMs: Date.now() });
    const { body } = await operator.post('/messages/preview', { device: 'shop', to: PEOPLE });
    expect(body.preview.optedOut).to.deep.equal([PEOPLE[1]]);
    expect(body.preview.finishAtMs).to.be.below(body.preview.expiresAtMs);
    expect((await viewer.post('/messages/preview', { device: 'shop', to: PEOPLE })).status).to.equal(403);
  });

  it('may be as large as the API takes them, from those who may send', async () => {
    const file = { type: 'document', base64: Buffer.alloc(300_000, '%PDF-1.4 ').toString('base64'), filename: 'a.pdf' };
    const message = { to: Array.from({ length: 10_000 }, (_, i) => String(447700000000 + i)), attachment: file };
    const { status, body } = await send('form-4', message);
    expect([status, body.code]).to.deep.equal([202, undefined]);
    const large = { device: 'shop', key: 'x', message: { text: 'x'.repeat(100_000) } };
    expect((await viewer.post('/messages', large)).status).to.equal(403);
    expect((await operator.post('/devices/shop/connect', large)).status).to.equal(400);
  });
});
