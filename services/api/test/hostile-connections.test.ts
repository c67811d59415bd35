import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { exchange, whenClosed } from './support/raw-request.js';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const DOCUMENT = `GET ${BASE}/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n`;
/** Where Node's parser has what it calls with each piece of a body. */
const ON_BODY = 3;
const STATUSES = /HTTP\/1\.1 (\d{3})/g;

describe('connections that ask much and take little', () => {
  const { api } = useTestApi({ linked: true, unreadMs: 500 });
  const sockets: Socket[] = [];
  // The API closes when they are gone.
  afterEach(() => sockets.splice(0).forEach((socket) => void socket.destroy()));

  async function open(): Promise<{ socket: Socket; received: () => string; closed: () => boolean }> {
    const socket = connect({ port: api.port, host: '127.0.0.1', allowHalfOpen: true });
    sockets.push(socket);
    let received = '';
    let closed = false;
    socket.on('data', (data) => {
      received += data;
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      closed = true;
    });
    await once(socket, 'connect');
    return { socket, received: () => received, closed: () => closed };
  }
  const send = (...headers: string[]) => {
    const head = [`POST ${BASE}/send HTTP/1.1`, 'Host: x', `Authorization: Bearer ${api.token}`, ...headers];
    return `${head.join('\r\n')}\r\nContent-Type: application/json\r\n\r\n`;
  };

  it('get 64 answers to what they ask without waiting for them, and are told which is the last', async () => {
    const { socket, received } = await open();
    socket.write(DOCUMENT.repeat(2_000));
    await eventually(() => socket.readableEnded);
    const statuses = [...received().matchAll(STATUSES)].map(([, status]) => status);
    expect(statuses.filter((status) => status === '200')).to.have.length(60);
    expect(statuses.filter((status) => status === '429')).to.have.length(4);
    expect(received().match(/^connection: close\r$/gim)).to.have.length(1);
    expect((await api.call('GET', '/status')).status).to.equal(200);
  });

  it('are not even heard after the last', async () => {
    let heard = 0;
    const count = () => void heard++;
    subscribe('http.server.request.start', count);
    const { socket, received } = await open();
    socket.write('GET / HTTP/1.1\r\n\r\n'.repeat(3_600));
    await eventually(() => socket.readableEnded);
    unsubscribe('http.server.request.start', count);
    expect([...received().matchAll(STATUSES)]).to.have.length(64);
    expect(heard).to.equal(64);
  });

  it('are heard less, each of them, when they are many', async () => {
    let heard = 0;
    const count = () => void heard++;
    subscribe('http.server.request.start', count);
    for (let i = 0; i < 10; i++) {
      const { value } = await api.newToken();
      const body = JSON.stringify({ phone: `44770090000${i}`, code: '482913' });
      const otp = `${send(`Content-Length: ${body.length}`)}${body}`.replace('/send', '/otp');
      const status = `GET ${BASE}/status HTTP/1.1\r\nAuthorization: Bearer ${api.token}\r\n\r\n`;
      // None is answered before the first, which waits for its device.
      (await open()).socket.write((otp + status.repeat(100)).replaceAll(api.token, value));
    }
    expect((await api.call('GET', '/status')).status).to.equal(200);
    unsubscribe('http.server.request.start', count);
    expect(heard).to.be.within(130, 160);
  });

  it('are heard less, too, when they come one after the other', async () => {
    let heard = 0;
    const count = () => void heard++;
    subscribe('http.server.request.start', count);
    for (let i = 0; i < 10; i++) {
      const { socket } = await open();
      socket.write('GET / HTTP/1.1\r\n\r\n'.repeat(64));
      await eventually(() => socket.readableEnded);
    }
    unsubscribe('http.server.request.start', count);
    expect(heard).to.be.within(130, 400);
  });

  it('are closed when they do not read their answers', async () => {
    const { socket, closed } = await open();
    socket.pause();
    socket.write(DOCUMENT.repeat(60));
    await eventually(() => {
      // That shows whether it is closed, and asks for nothing.
      if (!closed()) socket.write('\r\n');
      return closed();
    });
    expect((await api.call('GET', '/status')).status).to.equal(200);
  });

  it('have 60 requests a minute for what needs no token', async () => {
    expect(await (await fetch(`${api.origin}${BASE}/docs`)).text()).to.include('<!doctype html>');
    const ask = () => fetch(`${api.origin}${BASE}/openapi.json`);
    const first = await ask();
    const etag = first.headers.get('etag')!;
    expect(await first.json()).to.have.property('openapi');
    const conditional = `GET ${BASE}/openapi.json HTTP/1.1\r\nHost: x\r\nIf-None-Match: ${etag}\r\n\r\n`;
    const [known] = await exchange(api.port, [conditional]);
    expect([known!.status, known!.body, known!.headers.get('etag')]).to.deep.equal([304, '', etag]);
    for (let i = 3; i < 60; i++) await (await ask()).body?.cancel();
    const refused = await ask();
    const body = (await refused.json()) as { resetIn: number };
    expect(refused.status).to.equal(429);
    expect(body).to.deep.equal({ success: false, error: 'Rate limit exceeded', resetIn: body.resetIn });
    expect(refused.headers.get('retry-after')).to.equal(String(body.resetIn));
    expect((await api.call('GET', '/status')).status, 'with a token').to.equal(200);
  });

  it('are told why their body was refused while they are still sending, and closed then', async () => {
    for (const framing of ['Content-Length: 15000000', 'Transfer-Encoding: chunked']) {
      const { socket, received, closed } = await open();
      socket.write(send(framing));
      const piece = '['.repeat(50_000);
      const whenEnded = whenClosed(socket);
      const written = framing.startsWith('T') ? `${piece.length.toString(16)}\r\n${piece}\r\n` : piece;
      for (let i = 0; i < 290 && !closed(); i++) {
        if (socket.write(written)) continue;
        await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), whenEnded]);
      }
      await eventually(() => received().includes('nested more than 8 deep'));
      expect(received())
        .to.match(/^HTTP\/1.1 400 /)
        .and.to.match(/^connection: close\r$/im);
      socket.end();
      await eventually(closed);
    }
  });

  it('are read by no parser any more once their body was refused', async () => {
    let parsed = 0;
    const watch = (message: unknown) => {
      const { parser } = (message as { socket: { parser: Record<number, (piece: Buffer) => void> } }).socket;
      const take = parser[ON_BODY]!;
      parser[ON_BODY] = function (piece) {
        parsed++;
        return take.call(this, piece);
      };
    };
    subscribe('http.server.request.start', watch);
    const { socket, received, closed } = await open();
    socket.write(`${send('Transfer-Encoding: chunked')}9\r\n[[[[[[[[[\r\n`);
    await eventually(() => received().includes('nested more than 8 deep'));
    unsubscribe('http.server.request.start', watch);
    expect(parsed).to.equal(1);
    await eventually(() => {
      if (!closed()) socket.write('1\r\n[\r\n'.repeat(1_000));
      return closed();
    });
    expect(parsed).to.equal(1);
  });

  it('are closed some time after the answer when they never stop sending', async () => {
    const { socket, received, closed } = await open();
    socket.write(send('Content-Length: 15000000'));
    const startedAt = performance.now();
    await eventually(() => {
      if (!closed()) socket.write('[');
      return closed();
    });
    expect(received()).to.match(/^HTTP\/1.1 400 /);
    expect(performance.now() - startedAt).to.be.within(250, 5_000);
  });

  it('are closed when the framing of a body can be read in two ways', async () => {
    for (const coding of ['identity, chunked', 'chunked, identity', 'identity']) {
      const { socket, received } = await open();
      socket.write(`${send(`Transfer-Encoding: ${coding}`)}2\r\n{}\r\n0\r\n\r\n${DOCUMENT}`);
      await eventually(() => socket.readableEnded);
      expect(
        [...received().matchAll(STATUSES)].map(([, status]) => status),
        coding,
      ).to.deep.equal(['400']);
    }
    const [packed] = await exchange(api.port, [`${send('Transfer-Encoding: gzip, chunked')}2\r\n{}\r\n0\r\n\r\n`]);
    expect([packed!.status, packed!.headers.get('connection')]).to.deep.equal([415, 'close']);
  });
});

describe('a full house', () => {
  const PLACES = 20;
  const { api } = useTestApi({ linked: true, maxConnections: PLACES });
  const sockets: Socket[] = [];
  afterEach(() => sockets.splice(0).forEach((socket) => void socket.destroy()));

  /** Opens one after the other, and waits for the answer to what is asked on each, if it is a whole request. */
  async function fill(count: number, request: string, localAddress = '127.0.0.1'): Promise<Socket[]> {
    const opened: Socket[] = [];
    for (let i = 0; i < count; i++) {
      const socket = connect({ port: api.port, host: '127.0.0.1', localAddress }).on('error', () => {});
      sockets.push(socket);
      opened.push(socket);
      await once(socket, 'connect');
      socket.write(request);
      if (request.endsWith('\r\n\r\n')) await once(socket, 'data');
      else socket.resume();
    }
    return opened;
  }
  const metrics = () => api.metrics();
  const isServed = async () => expect((await api.call('GET', '/status')).status).to.equal(200);

  it('closes further connections at once when each of them waits for an answer, and counts them', async () => {
    const head = `POST ${BASE}/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.token}\r\nContent-Type: application/json\r\n`;
    const asking = `${head}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n`;
    await fill(PLACES - 1, asking, '127.0.0.2');
    await fill(1, asking);
    const [more] = await fill(1, '');
    await eventually(() => more!.closed);
    const last = sockets[PLACES - 1]!;
    let answer = '';
    last.on('data', (data) => {
      answer += data;
    });
    last.write('{}');
    await eventually(() => /^connection: close\r$/im.test(answer));
    expect(await metrics()).to.match(/gateway_dropped_connections_total 1\n/);
    for (const socket of sockets) socket.destroy();
    await eventually(isServed);
  });

  it('gives the place of one who has not asked to the caller after the one that it had to turn away', async () => {
    await fill(
      PLACES - 1,
      `POST ${BASE}/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.token}\r\nContent-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n`,
    );
    const [silent] = await fill(1, '');
    const [more] = await fill(1, '');
    await eventually(() => more!.closed && silent!.closed);
    await isServed();
  });

  it('lets the next caller in where answered ones are idle, and closes those that were idle longest', async () => {
    const idle = await fill(PLACES, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    for (let i = 0; i < 5; i++) await fill(1, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', '127.0.0.2');
    await isServed();
    await eventually(() => expect(idle.filter(({ closed }) => closed)).to.have.length(8));
    expect(idle.slice(0, 8).every(({ closed }) => closed)).to.equal(true);
    expect(await metrics()).not.to.match(/gateway_dropped_connections_total [1-9]/);
  });

  it('lets the next caller in where heads never come to their end, at the cost of the address with the most', async () => {
    const [neighbour] = await fill(1, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    const slow = await fill(2 * PLACES, 'GET / HTTP/1.1\r\nHos', '127.0.0.2');
    await fill(2 * PLACES, '', '127.0.0.2');
    await isServed();
    await eventually(() => slow.every(({ closed }) => closed));
    expect(neighbour!.closed, 'one of another address').to.equal(false);
    expect(await metrics()).not.to.match(/gateway_dropped_connections_total [1-9]/);
  });

  it('closes no connection while a request of it is answered, though it be the oldest', async () => {
    const [asking] = await fill(1, `POST ${BASE}/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.token}\r\n`);
    let received = '';
    asking!.on('data', (data) => {
      received += data;
    });
    asking!.write('Content-Type: application/json\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n');
    await eventually(() => received.includes('100 Continue'));
    await fill(2 * PLACES, '');
    asking!.write('{}');
    await eventually(() => received.includes('HTTP/1.1 400'));
    expect(received).not.to.match(/^connection: close\r$/im);
  });
});

describe('the places of one address', () => {
  const PLACES = 6;
  const { api } = useTestApi({ linked: true, maxConnections: 20, maxPerAddress: PLACES });
  const sockets: Socket[] = [];
  afterEach(() => sockets.splice(0).forEach((socket) => void socket.destroy()));

  async function open(localAddress: string, bytes: string): Promise<Socket> {
    const socket = connect({ port: api.port, host: '127.0.0.1', localAddress }).on('error', () => {});
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write(bytes);
    return socket;
  }
  const isServed = async () => expect((await api.call('GET', '/status')).status).to.equal(200);

  it('are those of its idle connections, of which the oldest goes', async () => {
    const first = await open('127.0.0.2', DOCUMENT);
    await once(first, 'data');
    first.resume();
    for (let i = 0; i < PLACES; i++) (await open('127.0.0.2', 'GET / HT')).resume();
    await eventually(() => first.closed);
    await isServed();
    expect(await api.metrics()).not.to.match(/gateway_dropped_connections_total [1-9]/);
  });

  it('are no more while each waits for an answer: the next is closed, and that of another address served', async () => {
    const head = `POST ${BASE}/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.token}\r\nContent-Type: application/json\r\n`;
    for (let i = 0; i < PLACES; i++) {
      await once(await open('127.0.0.2', `${head}Content-Length: 2\r\nExpect: 100-continue\r\n\r\n`), 'data');
    }
    const more = (await open('127.0.0.2', DOCUMENT)).resume();
    await eventually(() => more.closed);
    await isServed();
    expect(await api.metrics()).to.match(/gateway_dropped_connections_total 1\n/);
  });
});
