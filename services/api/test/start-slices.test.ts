import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { connect } from 'node:net';
import type { HttpServer } from '@gateway/api/http/http-server';
import { StartSlices } from '@gateway/runtime/http/start-slices';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { startPlainServer } from './support/start-plain-server.js';

const CONNECTIONS = 100;
const WORK_MS = 1;

describe('requests that come at once on many connections', () => {
  let server: HttpServer;
  /** How many were begun in each turn of the event loop that began any; of two, where this is told of its end late. */
  const begun: number[] = [];
  const order: string[] = [];
  /** How many connections were there when each was begun. */
  const acceptedBefore: number[] = [];
  let accepted = 0;
  const count = () => void accepted++;
  before(async () => {
    subscribe('net.server.socket', count);
    let isNewTurn = true;
    server = await startPlainServer((req, res) => {
      if (isNewTurn) {
        begun.push(0);
        setImmediate(() => {
          isNewTurn = true;
        });
      }
      isNewTurn = false;
      begun.push(begun.pop()! + 1);
      order.push(req.url!);
      acceptedBefore.push(accepted);
      const until = performance.now() + WORK_MS;
      while (performance.now() < until);
      res.end('done');
    });
  });
  after(async () => {
    unsubscribe('net.server.socket', count);
    await server.close();
  });

  it('are begun a few in a turn, those of a connection in their order, so that others have their turns, too', async () => {
    const sockets = Array.from({ length: CONNECTIONS }, () => connect(server.port, '127.0.0.1'));
    let received = '';
    for (const socket of sockets) {
      socket.on('data', (data) => {
        received += data;
      });
    }
    const ask = async (requests: (at: number) => string, answers: number) => {
      received = '';
      sockets.forEach((socket, at) => void socket.write(requests(at)));
      await eventually(() => received.split('done').length > answers);
    };
    // They are accepted one after the other.
    await ask(() => 'GET / HTTP/1.1\r\n\r\n', CONNECTIONS);
    // Else those who came first would have all their answers before the last are heard.
    expect(acceptedBefore[CONNECTIONS / 5], String(acceptedBefore)).to.be.at.least(CONNECTIONS / 2);
    begun.length = 0;
    await ask((at) => `GET /${at}/1 HTTP/1.1\r\n\r\nGET /${at}/2 HTTP/1.1\r\n\r\n`, 2 * CONNECTIONS);
    expect(Math.max(...begun), String(begun)).to.be.at.most(10);
    begun.length = 0;
    await ask((at) => `CONNECT /${at}/3 HTTP/1.1\r\n\r\n`, CONNECTIONS);
    for (const socket of sockets) socket.destroy();
    expect(Math.max(...begun), `tunnels: ${begun}`).to.be.at.most(10);
    for (let at = 0; at < CONNECTIONS; at++) {
      expect(order.filter((url) => url.startsWith(`/${at}/`))).to.deep.equal([`/${at}/1`, `/${at}/2`, `/${at}/3`]);
    }
  });

  it('are begun in turn with those of other addresses, which come after them', async () => {
    order.length = 0;
    let received = '';
    const ask = (url: string, localAddress: string) => {
      const socket = connect({ port: server.port, host: '127.0.0.1', localAddress });
      socket.on('data', (data) => {
        received += data;
      });
      socket.write(`GET ${url} HTTP/1.1\r\n\r\n`);
      return socket;
    };
    const sockets = Array.from({ length: 3 * CONNECTIONS }, () => ask('/many', '127.0.0.1'));
    sockets.push(ask('/one', '127.0.0.2'));
    await eventually(() => received.split('done').length > 3 * CONNECTIONS + 1);
    for (const socket of sockets) socket.destroy();
    expect(order.indexOf('/one'), 'of 301').to.be.below(2 * CONNECTIONS);
  });

  it('are heard while lists of others are checked', async () => {
    const checks = new StartSlices();
    let checked = 0;
    let ended = false;
    const check = () => {
      checked++;
      const until = performance.now() + 5 * WORK_MS;
      while (performance.now() < until);
      if (!ended) setImmediate(() => checks.run('token', check));
    };
    for (let i = 0; i < 3; i++) checks.run('token', check);
    const before = accepted;
    const sockets = Array.from({ length: CONNECTIONS }, () => connect(server.port, '127.0.0.1'));
    await eventually(() => accepted === before + CONNECTIONS);
    const checkedMeanwhile = checked;
    for (const socket of sockets) socket.destroy();
    expect(checkedMeanwhile, 'not one for each connection').to.be.at.most(CONNECTIONS / 2);
    await eventually(() => checked > checkedMeanwhile);
    ended = true;
  });
});
