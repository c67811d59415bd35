import { defer } from '@gateway/runtime/deferred';
import { setDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import { ensureDevice } from '@gateway/store/devices/devices';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { addSender, linkDevice } from './support/device-owner.js';
import { useTestApi } from './support/use-test-api.js';

interface Message {
  messageId: string;
  device: string;
  status: string;
  kind: string;
  recipients: number;
}

describe('GET /messages and GET /devices', () => {
  const { space, api } = useTestApi({ linked: true });

  const send = async (token: string, to: string | string[] = '447700900001') =>
    String((await api.call('POST', '/send', { token, json: { to, text: 'hello' } })).body.messageId);
  const list = async (token: string, query = '') => {
    const { status, body } = await api.call('GET', `/messages${query}`, { token });
    expect(status).to.equal(200);
    return body as unknown as { messages: Message[]; nextCursor: string | null };
  };
  const idsOf = ({ messages }: { messages: Message[] }) => messages.map(({ messageId }) => messageId);

  it('lists what the token has sent, the newest first, page by page', async () => {
    const { value: token } = await api.newToken();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) ids.unshift(await send(token, ['447700900001', '447700900002']));
    const first = await list(token, '?limit=2');
    const second = await list(token, `?limit=2&after=${first.nextCursor}`);
    const third = await list(token, `?limit=2&after=${second.nextCursor}`);
    expect([first, second, third].map(idsOf)).to.deep.equal([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
    expect(third.nextCursor).to.equal(null);
    expect(first.messages[0]).to.deep.include({
      ...{ device: 'default', kind: 'text', status: 'queued', recipients: 2 },
      counts: { queued: 2, sent: 0, delivered: 0, read: 0, failed: 0, expired: 0, cancelled: 0 },
    });
    const { createdAt, expiresAt } = first.messages[0] as unknown as Record<string, string>;
    expect(Date.parse(expiresAt!) - Date.parse(createdAt!)).to.equal(24 * 3_600_000);
  });

  it('reads for two calls of a token at a time, and for others meanwhile', async () => {
    const tokens = await Promise.all([api.newToken(), api.newToken()]);
    const { redis } = api.store;
    const read = redis.xrevrange.bind(redis);
    const turn = defer<void>();
    let [running, most] = [0, 0];
    redis.xrevrange = (async (...args: Parameters<typeof read>) => {
      most = Math.max(most, ++running);
      await turn.promise;
      return read(...args).finally(() => running--);
    }) as typeof read;
    const many = Array.from({ length: 20 }, () => list(tokens[0].value));
    await eventually(() => running === 2);
    const other = list(tokens[1].value);
    await eventually(() => running === 3);
    turn.resolve();
    await Promise.all([...many, other]);
    expect(most).to.equal(3);
  });

  it('filters by status, kind and device', async () => {
    const { value: token } = await api.newToken();
    const [cancelled, queued] = [await send(token), await send(token)];
    await api.call('DELETE', `/messages/${cancelled}`, { token });
    expect(idsOf(await list(token, '?status=cancelled'))).to.deep.equal([cancelled]);
    expect(idsOf(await list(token, '?status=queued&kind=text&device=default'))).to.deep.equal([queued]);
    expect(idsOf(await list(token, '?kind=otp'))).to.deep.equal([]);
    expect(idsOf(await list(token, '?device=unknown'))).to.deep.equal([]);
    for (const query of ['?status=lost', '?after=x', '?limit=101', '?device=A', '?kind=letter']) {
      expect((await api.call('GET', `/messages${query}`, { token })).status, query).to.equal(400);
    }
  });

  it('shows a token its own messages, an admin all of the workspace, and a token of a device those of that device', async () => {
    await linkDevice(space.store, { workspace: 'main', device: 'second' });
    const newToken = async (options: Parameters<typeof api.newToken>[0]) => (await api.newToken(options)).value;
    const [one, other] = [await newToken({}), await newToken({})];
    const bound = await newToken({ device: 'second' });
    const admin = await newToken({ scopes: ['read', 'admin'] });
    const boundAdmin = await newToken({ scopes: ['read', 'admin'], device: 'second' });
    const ids = { one: await send(one), other: await send(other), bound: await send(bound) };
    expect(idsOf(await list(one))).to.deep.equal([ids.one]);
    expect(idsOf(await list(other))).to.deep.equal([ids.other]);
    expect(idsOf(await list(bound))).to.deep.equal([ids.bound]);
    expect(idsOf(await list(admin))).to.deep.equal([ids.bound, ids.other, ids.one]);
    expect(idsOf(await list(boundAdmin))).to.deep.equal([ids.bound]);
    expect(idsOf(await list(boundAdmin, '?device=default'))).to.deep.equal([]);
    expect(idsOf(await list(admin, '?device=second'))).to.deep.equal([ids.bound]);
    const { value: foreign } = await createApiToken(space.store, 'elsewhere', { name: 'x', scopes: ['read', 'admin'] });
    expect(idsOf(await list(foreign))).to.deep.equal([]);
    expect((await api.call('GET', '/devices', { token: foreign })).body.devices).to.deep.equal([]);
  });

  it('lists the devices of the workspace with their states, and to a token of a device that one', async () => {
    await addSender(space.store);
    for (const device of ['b', 'a', 'c']) await ensureDevice(space.store, { workspace: 'main', device });
    const owner = await linkDevice(space.store, { workspace: 'main', device: 'second' });
    await owner.observe({ status: 'connected', phone: '447700900901', name: 'Ann' });
    await setDefaultDevice(space.store, { workspace: 'main', device: 'second' });
    const { value: token } = await api.newToken();
    await send(token, ['447700900001', '447700900002']);
    const page = async (query: string) => (await api.call('GET', `/devices${query}`, { token })).body;
    const first = await page('?limit=3');
    const rest = await page(`?limit=3&after=${first.nextCursor}`);
    const all = [...(first.devices as object[]), ...(rest.devices as object[])] as Record<string, unknown>[];
    expect(all.map(({ device }) => device)).to.deep.equal(['a', 'b', 'c', 'default', 'second']);
    expect(rest.nextCursor).to.equal(null);
    expect(all[0]).to.deep.equal({
      ...{ device: 'a', isDefault: false, backlog: 0, status: 'disconnected', reason: 'never_linked' },
    });
    expect(all[4]).to.deep.equal({
      ...{ device: 'second', isDefault: true, backlog: 2, status: 'connected', phone: '447700900901', name: 'Ann' },
    });
    const { value: bound } = await api.newToken({ device: 'b' });
    const { body } = await api.call('GET', '/devices', { token: bound });
    expect((body.devices as { device: string }[]).map(({ device }) => device)).to.deep.equal(['b']);
  });
});
