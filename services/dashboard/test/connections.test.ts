import type { RequestListener, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { type HttpServer, type HttpServerOptions, startHttpServer } from '@gateway/dashboard/http/http-server';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

const REQUEST = 'GET / HTTP/1.1\r\nHost: here\r\n\r\n';

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
  function ask(requests: number, localAddress = '127.0.0.1'): { socket: Socket; text: () => string } {
    const socket = connect({ port: server!.port, host: '127.0.0.1', localAddress });
    sockets.push(socket);
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (piece) => {
      text += piece;
    });
    socket.write(REQUEST.repeat(requests));
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

  it('are answered in turn with those of other addresses, a few in each turn of the event loop', async () => {
    const begun: string[] = [];
    let inThisTurn = 0;
    let mostInTurn = 0;
    await start((req, res) => {
      // Of two turns, where this is told of the end of one late.
      const endTurn = () => {
        inThisTurn = 0;
      };
      if (inThisTurn === 0) setImmediate(() => setImmediate(endTurn));
      mostInTurn = Math.max(mostInTurn, ++inThisTurn);
      begun.push(req.socket.remoteAddress!);
      const until = performance.now() + 1;
      while (performance.now() < until);
      res.end('x');
    });
    const many = Array.from({ length: 100 }, () => ask(1, '127.0.0.2'));
    const one = ask(1);
    await eventually(() => [one, ...many].every(({ text }) => countAnswers(text()) === 1));
    begun.length = 0;
    mostInTurn = 0;
    for (const { socket } of [...many, one]) socket.write(REQUEST);
    await eventually(() => [one, ...many].every(({ text }) => countAnswers(text()) === 2));
    expect(mostInTurn).to.be.below(30);
    expect(begun.indexOf('127.0.0.1'), 'how many came before the one of another address').to.be.below(30);
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
