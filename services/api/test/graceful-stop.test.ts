import { once } from 'node:events';
import { connect } from 'node:net';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from './support/device-owner.js';
import { whenClosed } from './support/raw-request.js';
import { BASE, startTestApi } from './support/test-api.js';

describe('stopping the API', () => {
  let space: RedisSpace;

  beforeEach(async () => {
    space = await openRedisSpace();
  });
  afterEach(() => space.close());

  it('finishes the request in flight, then closes its connection', async () => {
    const api = await startTestApi(space);
    await linkDevice(space.store);
    const { value } = await api.newToken();
    const body = JSON.stringify({ to: '447700900001', text: 'hello' });
    const socket = connect(api.port, '127.0.0.1');
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    const head = [
      `POST ${BASE}/send HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${value}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    await eventually(() => received.includes('100 Continue'));
    const closed = api.close();
    socket.write(body);
    await whenClosed(socket);
    expect(received).to.include('202 Accepted');
    await closed;
    const refused = await fetch(`${api.origin}${BASE}/status`).catch(() => 'refused');
    expect(refused).to.equal('refused');
  });

  it('is not held up by connections that are kept alive', async () => {
    const api = await startTestApi(space);
    await api.call('GET', '/status');
    const startedAt = Date.now();
    await api.close();
    expect(Date.now() - startedAt).to.be.below(1_000);
  });

  it('is not held up by connections on which no request comes', async () => {
    const api = await startTestApi(space);
    const closed: Promise<unknown>[] = [];
    for (const begun of ['', 'GET / HTTP/1.1\r\nHos']) {
      const socket = connect(api.port, '127.0.0.1').on('error', () => {});
      await once(socket, 'connect');
      if (begun) socket.write(begun);
      closed.push(whenClosed(socket));
    }
    const startedAt = Date.now();
    await api.close();
    expect(Date.now() - startedAt).to.be.below(5_000);
    await Promise.all(closed);
  });
});
