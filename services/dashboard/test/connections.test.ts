import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type HttpServer, type HttpServerOptions, startHttpServer } from '@gateway/dashboard/http/http-server';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

describe('connections of the console', () => {
  const sockets: Socket[] = [];
  let server: HttpServer | undefined;
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy();
    await server?.close();
  });

  async function start(app: RequestListener, options: Partial<HttpServerOptions> = {}): Promise<void> {
    server = await startHttpServer(app, { host: '127.0.0.1', port: 0, ...options });
  }

  /** Asks so many times, without waiting for answers. */
  function ask(requests: number): { socket: Socket; text: () => string } {
    const socket = connect(server!.port, '127.0.0.1');
    sockets.push(socket);
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (piece) => {
      text += piece;
    });
    socket.write('GET / HTTP/1.1\r\nHost: here\r\n\r\n'.repeat(requests));
    return { socket, text: () => text };
  }

  const countAnswers = (text: string) => text.split('HTTP/1.1 200').length - 1;

  it('answer sixteen requests that come at once; one that sends more is closed, and its requests are not begun', async () => {
    let begun = 0;
    await start((_req, res) => {
      begun++;
      setImmediate(() => res.end('x'));
    });
    const few = ask(16);
    await eventually(() => countAnswers(few.text()) === 16);
    begun = 0;
    const many = ask(500);
    await eventually(() => many.socket.closed);
    expect(begun).to.equal(16);
  });

  it('tell each request that its caller is gone, also those that waited for the answers to others', async () => {
    const waiting = new Set<ServerResponse>();
    await start((_req, res) => {
      waiting.add(res);
      res.once('close', () => waiting.delete(res));
    });
    const { socket } = ask(3);
    await eventually(() => waiting.size === 3);
    socket.destroy();
    await eventually(() => waiting.size === 0);
  });

  it('are as many for an address as it may have', async () => {
    await start((_req, res) => void res.end('x'), { maxPerAddress: 2 });
    const both = [ask(1), ask(1)];
    await eventually(() => both.every(({ text }) => countAnswers(text()) === 1));
    const third = ask(1);
    await eventually(() => third.socket.closed);
    expect(third.text()).to.equal('');
    both[0]!.socket.destroy();
    await eventually(async () => {
      const next = ask(1);
      await eventually(() => next.socket.closed || countAnswers(next.text()) === 1);
      return countAnswers(next.text()) === 1;
    });
  });

  it('are closed when nothing of an answer is read', async () => {
    let isClosed = false;
    await start(
      (_req, res) => {
        res.once('close', () => {
          isClosed = true;
        });
        res.write(Buffer.alloc(32 * 1024 * 1024));
      },
      { unreadMs: 100 },
    );
    ask(1).socket.pause();
    await eventually(() => isClosed);
  });
});
