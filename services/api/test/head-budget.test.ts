import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { HttpServer } from '@gateway/api/http/http-server';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { startPlainServer } from './support/start-plain-server.js';

const CALLERS = 450;
const LINES = Array.from({ length: 120 }, (_, i) => `h${i}: ${'x'.repeat(110)}\r\n`).join('');
const large = (method: string) => `${method} / HTTP/1.1\r\n${LINES}\r\n`;

describe('large heads of requests that wait for their answers', () => {
  let server: HttpServer;
  const waiting: ServerResponse[] = [];
  const sockets: Socket[] = [];
  before(async () => {
    server = await startPlainServer(
      (req, res) => void (req.headers['x-now'] ? res.end('now') : waiting.push(res as ServerResponse)),
    );
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await server.close();
  });

  async function ask(head: string): Promise<() => string> {
    const socket = connect(server.port, '127.0.0.1');
    sockets.push(socket);
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    await once(socket, 'connect');
    socket.write(head);
    return () => received;
  }

  for (const method of ['GET', 'CONNECT']) {
    it(`are refused with 503 once they hold eight megabytes; small ones pass, and all do again when there is room: ${method}`, async () => {
      waiting.length = 0;
      const answers = await Promise.all(Array.from({ length: CALLERS }, () => ask(large(method))));
      const refused = () => answers.map((received) => received()).filter(Boolean);
      await eventually(() => waiting.length + refused().length === CALLERS);
      expect(waiting.length).to.be.within(300, CALLERS - 1);
      for (const answer of refused()) {
        expect(answer).to.match(/^HTTP\/1.1 503 /);
        expect(answer)
          .to.match(/^retry-after: 1\r$/im)
          .and.to.match(/^connection: close\r$/im)
          .and.to.match(/^x-ratelimit-limit: 60\r$/im)
          .and.to.match(/^x-ratelimit-remaining: \d+\r$/im)
          .and.to.match(/^x-ratelimit-reset: \d+\r$/im);
      }
      const small = await ask('GET / HTTP/1.1\r\nX-Now: 1\r\n\r\n');
      await eventually(() => small().endsWith('now'));
      for (const res of waiting) res.end('later');
      await eventually(() => answers.every((received) => received() !== ''));
      const one = await ask(large(method).replace('\r\n', '\r\nX-Now: 1\r\n'));
      await eventually(() => one().endsWith('now'));
    });
  }
});

describe('heads that do not come to their end', () => {
  const CONNECTIONS = 900;
  const UNFINISHED = `GET / HTTP/1.1\r\nA: ${'x'.repeat(15_000)}`;
  let server: HttpServer;
  const sockets: Socket[] = [];
  before(async () => {
    const room = { backlog: 1_024, maxConnections: 2_000 };
    server = await startPlainServer((_req, res) => void res.end('done'), room);
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await server.close();
  });

  async function begin(localAddress: string, bytes: string): Promise<Socket> {
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress }).on('error', () => {});
    sockets.push(socket);
    await once(socket, 'connect');
    socket.resume().write(bytes);
    return socket;
  }

  it('hold eight megabytes at most, at the cost of the address with the most', async () => {
    const other = await begin('127.0.0.2', UNFINISHED);
    const many = await Promise.all(Array.from({ length: CONNECTIONS }, () => begin('127.0.0.1', UNFINISHED)));
    const open = () => many.filter(({ closed }) => !closed).length;
    await eventually(() => open() * UNFINISHED.length <= 8 * 1024 * 1024);
    expect(open(), 'of those that fit').to.be.at.least(200);
    let received = '';
    other.on('data', (data) => {
      received += data;
    });
    other.write('\r\n\r\n');
    await eventually(() => received.endsWith('done'));
  });
});
