import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { brokenBy } from '@gateway/api/http/body/broken-bodies';
import { leaveToReader } from '@gateway/api/http/body/unread-bodies';
import type { HttpServer } from '@gateway/api/http/http-server';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { startPlainServer } from './support/start-plain-server.js';

const CALLERS = 300;
const PIECE_BYTES = 60_000;
const MEGABYTE = 1024 * 1024;
const begin = (bytes: number) =>
  `POST / HTTP/1.1\r\nContent-Length: ${bytes === PIECE_BYTES ? 15_000_000 : bytes}\r\n\r\n${'x'.repeat(bytes)}`;

describe('bodies that come before their requests are looked at', () => {
  let server: HttpServer;
  const waiting: ServerResponse[] = [];
  const sockets: Socket[] = [];
  before(async () => {
    server = await startPlainServer((_req, res) => void waiting.push(res as ServerResponse));
  });
  after(async () => {
    for (const res of waiting) res.end();
    for (const socket of sockets) socket.destroy();
    await server.close();
  });

  async function ask(bytes: string, localAddress = '127.0.0.1'): Promise<Socket> {
    const socket = connect({ port: server.port, host: '127.0.0.1', localAddress }).on('error', () => {});
    sockets.push(socket.resume());
    await once(socket, 'connect');
    socket.write(bytes);
    return socket;
  }
  const heldBytes = () => waiting.reduce((sum, { req }) => sum + req.readableLength, 0);
  const untilAll = (count: number) => eventually(() => waiting.length === count);

  it('take 16 MB in all, and 12 MB for one address: beyond that they are refused; small ones pass, and all do again later', async () => {
    await Promise.all(Array.from({ length: CALLERS }, () => ask(begin(PIECE_BYTES))));
    await untilAll(CALLERS);
    const refused = () => waiting.filter(({ req }) => brokenBy(req)).length;
    await eventually(() => refused() > 0 && refused() + heldBytes() / PIECE_BYTES >= CALLERS);
    expect(heldBytes()).to.be.within(11 * MEGABYTE, 12 * MEGABYTE);
    expect(brokenBy(waiting.find(({ req }) => brokenBy(req))!.req)).to.include({ status: 503 });
    await ask(begin(4_000));
    await ask(begin(PIECE_BYTES), '127.0.0.2');
    await untilAll(CALLERS + 2);
    await eventually(() => waiting.slice(-2).every(({ req }) => req.readableLength > 0));
    expect(waiting.slice(-2).map(({ req }) => brokenBy(req))).to.deep.equal([undefined, undefined]);
    for (const res of waiting.splice(0)) res.end();
    await ask(begin(PIECE_BYTES));
    await untilAll(1);
    await eventually(() => heldBytes() === PIECE_BYTES);
  });

  it('are counted no more from when something reads them', async () => {
    for (const res of waiting.splice(0)) res.end();
    await Promise.all(Array.from({ length: 150 }, () => ask(begin(PIECE_BYTES))));
    await eventually(() => waiting.length === 150 && heldBytes() === 150 * PIECE_BYTES);
    for (const { req } of waiting) leaveToReader(req);
    await Promise.all(Array.from({ length: 100 }, () => ask(begin(PIECE_BYTES))));
    await eventually(() => waiting.length === 250 && heldBytes() === 250 * PIECE_BYTES);
    expect(waiting.filter(({ req }) => brokenBy(req))).to.have.length(0);
  });
});
