import { expect } from 'chai';
import { exchange } from './support/raw-request.js';
import { BASE, startTestApi } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const JSON_TYPE = 'Content-Type: application/json';
const TEXT = { to: '447700900001', text: 'hello' };
/** Wrong in every way that is looked at after the body is sound. */
const REPLY_AND_FILE = {
  to: '447700900001',
  existingMessageId: 'msg_unknown',
  attachment: { type: 'image', url: 'http://127.0.0.1/' },
};

/** Each request is wrong in what its check looks at and in all that the checks after it look at. */
describe('the order of checks', () => {
  const { space, api, owner } = useTestApi({ linked: true });

  async function ask(token: string, headers: string[], body = '{'): Promise<{ status: number; body: string }> {
    const head = [`POST ${BASE}/send?nonsense=1 HTTP/1.1`, 'Host: x', `Authorization: Bearer ${token}`, ...headers];
    const [answer] = await exchange(api.port, [`${head.join('\r\n')}\r\n\r\n${body}`]);
    return answer!;
  }
  const send = (token: string, json: object, key = 'k') =>
    api.call('POST', '/send', { token, json, headers: { 'idempotency-key': key } });
  const tooLarge = 'Content-Length: 99999999';

  it('is token, limit, content type, size, JSON, fields', async () => {
    const { value } = await api.newToken();
    const ofText = ['Content-Type: text/plain', tooLarge, 'Idempotency-Key: a b'];
    expect((await ask('gw_wrong', ofText)).status).to.equal(401);
    expect((await ask(value, ofText)).status).to.equal(415);
    expect((await ask(value, [JSON_TYPE, tooLarge, 'Idempotency-Key: a b'])).status).to.equal(413);
    const broken = await ask(value, [JSON_TYPE, 'Content-Length: 1', 'Idempotency-Key: a b']);
    expect(JSON.parse(broken.body).details).to.deep.equal([{ path: [], message: 'must be valid JSON in UTF-8' }]);
    const empty = await ask(value, [JSON_TYPE, 'Content-Length: 2', 'Idempotency-Key: a b'], '{}');
    const paths = JSON.parse(empty.body).details.map(({ path }: { path: string[] }) => path.join());
    expect(paths).to.have.members(['nonsense', 'to', 'text,attachment', 'Idempotency-Key']);
    for (let asked = 4; asked < 30; asked++) await api.call('POST', '/send', { token: value });
    expect((await ask(value, ofText)).status).to.equal(429);
  });

  it('is then repeats, device, the message to answer, the file', async () => {
    const { value } = await api.newToken();
    expect((await send(value, TEXT)).status).to.equal(202);
    await owner.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
    expect((await send(value, { ...REPLY_AND_FILE, to: 'x' })).status, 'fields before repeats').to.equal(400);
    expect((await send(value, REPLY_AND_FILE)).status, 'repeats before the device').to.equal(422);
    expect((await send(value, REPLY_AND_FILE, 'other')).status, 'the device before the reply').to.equal(409);
    await owner.observe({ status: 'connected', phone: '447700900123' }, 'linked');
    const reply = await send(value, REPLY_AND_FILE, 'other');
    expect((reply.body.details as { path: string[] }[]).map(({ path }) => path)).to.deep.equal([['existingMessageId']]);
    const { existingMessageId: _, ...file } = REPLY_AND_FILE;
    const unfetched = await send(value, file, 'other');
    expect(unfetched.body.details).to.deep.equal([{ path: ['attachment', 'url'], message: 'could not be fetched' }]);
  });

  it('puts the token and the limit before unknown paths and methods', async () => {
    const { value } = await api.newToken();
    for (const [method, path, status] of [
      ['GET', '/nothing', 404],
      ['PUT', '/send', 405],
    ] as const) {
      expect((await api.call(method, path, { token: 'gw_wrong' })).status).to.equal(401);
      expect((await api.call(method, path, { token: value })).status).to.equal(status);
    }
    const away = await startTestApi(space, { redisUrl: 'redis://127.0.0.1:1', withoutRedis: true });
    expect((await away.call('GET', '/nothing', { token: value })).status).to.equal(503);
    await away.close();
  });
});
