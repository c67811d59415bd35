import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from './support/device-owner.js';
import { BASE, startTestApi, type TestApi } from './support/test-api.js';

const TEXT = { to: '447700900001', text: 'hello' };
const JSON_TYPE = { 'content-type': 'application/json' };

describe('request bodies (400, 413, 415)', () => {
  let space: RedisSpace;
  let api: TestApi;
  let token: string;

  beforeEach(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space, { requestTimeoutMs: 1_000 });
    token = (await api.newToken()).value;
    await linkDevice(space.store);
  });
  afterEach(async () => {
    await api.close();
    await space.close();
  });

  async function openSocket(head: string[]): Promise<{ socket: Socket; received: () => string }> {
    const socket = connect(api.port, '127.0.0.1');
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    return { socket, received: () => received };
  }
  const sendHead = (...headers: string[]) => [`POST ${BASE}/send HTTP/1.1`, 'Host: x', ...headers];
  const bearer = () => `Authorization: Bearer ${token}`;

  it('refuses other content types with 415', async () => {
    const types = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonp',
      'nonsense',
      '',
      'application/json; charset=latin1',
    ];
    for (const type of types) {
      const { status, body } = await api.call('POST', '/send', {
        body: JSON.stringify(TEXT),
        headers: { 'content-type': type },
      });
      expect(status, type).to.equal(415);
      expect(body).to.deep.equal({ success: false, error: 'Unsupported media type' });
    }
    const zipped = await api.call('POST', '/send', {
      body: gzipSync(JSON.stringify(TEXT)),
      headers: { ...JSON_TYPE, 'content-encoding': 'gzip' },
    });
    expect(zipped.status).to.equal(415);
  });

  it('takes JSON with a charset or a byte order mark', async () => {
    const type = { 'content-type': 'Application/JSON; charset="UTF-8"' };
    const { status } = await api.call('POST', '/send', { body: `\ufeff${JSON.stringify(TEXT)}`, headers: type });
    expect(status).to.equal(202);
  });

  it('refuses what is not JSON, or not UTF-8, without quoting it', async () => {
    for (const body of ['{"to": secret', 'secret', '{"to":"1",}', Uint8Array.of(0x22, 0xff, 0x22)]) {
      const answer = await api.call('POST', '/send', { body, headers: JSON_TYPE });
      expect(answer.status).to.equal(400);
      expect(answer.body).to.deep.equal({
        success: false,
        error: 'Invalid request data',
        details: [{ path: [], message: 'must be valid JSON in UTF-8' }],
      });
    }
  });

  it('refuses JSON that is not an object', async () => {
    for (const body of ['null', '[]', '"x"', '7', 'true']) {
      const answer = await api.call('POST', '/send', { body, headers: JSON_TYPE });
      expect(answer.status).to.equal(400);
      expect(answer.body.details).to.deep.equal([{ path: [], message: 'must be an object' }]);
    }
  });

  it('refuses a declared length past the limit before a byte of it has arrived', async () => {
    const { socket, received } = await openSocket(
      sendHead(bearer(), 'Content-Type: application/json', 'Content-Length: 16777216'),
    );
    await eventually(() => received().includes('413 Payload Too Large'));
    expect(received()).to.include('{"success":false,"error":"Payload too large"}');
    socket.destroy();
  });

  it('refuses an undeclared length past the limit as soon as it is reached', async () => {
    const { socket, received } = await openSocket(
      sendHead(bearer(), 'Content-Type: application/json', 'Transfer-Encoding: chunked'),
    );
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`;
    for (let i = 0; i < 256; i++) socket.write(chunk);
    await eventually(() => received().includes('413 Payload Too Large'));
    socket.destroy();
  });

  it('answers 401 to a large body without a token before it has arrived', async () => {
    const { socket, received } = await openSocket(
      sendHead('Content-Type: application/json', 'Content-Length: 15728640'),
    );
    await eventually(() => received().includes('401 Unauthorized'));
    socket.destroy();
    const { status } = await api.call('POST', '/send', {
      token: undefined,
      body: new Uint8Array(15 * 1024 * 1024),
      headers: JSON_TYPE,
    });
    expect(status).to.equal(401);
  });

  it('asks for a body only when it wants it', async () => {
    const refused = await openSocket(sendHead('Content-Length: 15728640', 'Expect: 100-continue'));
    await eventually(() => refused.received().includes('401 Unauthorized'));
    expect(refused.received()).not.to.include('100 Continue');
    refused.socket.destroy();

    const body = JSON.stringify(TEXT);
    const wanted = await openSocket(
      sendHead(bearer(), 'Content-Type: application/json', `Content-Length: ${body.length}`, 'Expect: 100-continue'),
    );
    await eventually(() => wanted.received().includes('100 Continue'));
    wanted.socket.write(body);
    await eventually(() => wanted.received().includes('202 Accepted'));
    wanted.socket.destroy();
  });

  it('ends a body that comes too slowly with 408', async () => {
    const { socket, received } = await openSocket(
      sendHead(bearer(), 'Content-Type: application/json', 'Content-Length: 1000'),
    );
    socket.write('{"to":');
    await eventually(() => received().includes('408 Request Timeout'));
    expect(received()).to.include('{"success":false,"error":"Request timeout"}');
  });

  it('survives a body that is cut off', async () => {
    const { socket, received } = await openSocket(
      sendHead(bearer(), 'Content-Type: application/json', 'Content-Length: 1000', 'Expect: 100-continue'),
    );
    await eventually(() => received().includes('100 Continue'));
    socket.resetAndDestroy();
    expect((await api.call('POST', '/send', { json: TEXT })).status).to.equal(202);
    await eventually(async () => /route="\/send",status_code="499"/.test(await api.metrics()));
  });

  it('answers what is not HTTP, and headers without end, in its own shape', async () => {
    const nonsense = await openSocket(['HELO gateway']);
    await eventually(() => nonsense.received().includes('must be valid HTTP'));
    const long = await openSocket([`GET ${BASE}/status HTTP/1.1`, `X-Long: ${'x'.repeat(20_000)}`]);
    await eventually(() => long.received().includes('431 Request Header Fields Too Large'));
    expect(long.received()).to.include('"success":false');
  });

  it('takes the empty object that some clients send with every POST, and no other body, where none is needed', async () => {
    expect((await api.call('POST', '/disconnect', { json: { method: 'x' } })).status).to.equal(400);
    expect((await api.call('POST', '/connect', { json: {} })).body).to.include({ status: 'connected' });
  });
});
