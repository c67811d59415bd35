import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { guardWrites } from '@gateway/messenger/socket/guard-writes';
import { eventually } from '@gateway/testkit/eventually';
import type { makeWASocket } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { WebSocket, WebSocketServer } from 'ws';

describe('frames in front of the socket', () => {
  let server: WebSocketServer;
  let client: WebSocket;
  let far: WebSocket;
  let refusal: Error | undefined;
  let lost: Error | undefined;
  const refused: Error[] = [];
  const received: string[] = [];
  const tcp = () => (client as unknown as { _socket: Socket })._socket;

  before(async () => {
    server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    const connected = once(server, 'connection') as Promise<[WebSocket]>;
    client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    [[far]] = await Promise.all([connected, once(client, 'open')]);
    far.on('message', (data) => received.push(String(data).slice(0, 20)));
    guardWrites({ ws: { socket: client } } as unknown as ReturnType<typeof makeWASocket>, {
      assertMayWrite: () => {
        if (refusal) throw refusal;
      },
      assertHeld: () => {
        if (lost) throw lost;
      },
      onRefused: (error) => refused.push(error),
    });
  });
  after(() => {
    client.terminate();
    server.close();
  });

  it('leave together at the end of the turn, and who writes them need not wait for that', async () => {
    const done: string[] = [];
    for (const frame of ['a', 'b', 'c']) client.send(frame, () => done.push(frame));
    expect(done).to.deep.equal(['a', 'b', 'c']);
    expect(tcp().writableLength, 'nothing has left').to.equal(3 * 7);
    await new Promise(setImmediate);
    expect(tcp().writableLength).to.equal(0);
    await eventually(() => received.length === 3);
    expect(received).to.deep.equal(['a', 'b', 'c']);
  });

  it('are waited for while the network takes none', async () => {
    far.pause();
    const isDone: boolean[] = [];
    const write = async () => {
      const place = isDone.push(false) - 1;
      client.send('x'.repeat(1024 * 1024), () => {
        isDone[place] = true;
      });
      await new Promise(setImmediate);
    };
    while (!tcp().writableNeedDrain) await write();
    await write();
    expect(isDone.at(-1)).to.equal(false);
    far.resume();
    await eventually(() => isDone.every(Boolean));
  });

  it('are refused when nothing may be written any more; handlers of the library learn of it from the end', async () => {
    refusal = new Error('the session has ended');
    const errors: unknown[] = [];
    client.send('late', (error) => errors.push(error));
    expect(refused.splice(0)).to.deep.equal([refusal]);
    expect(errors).to.deep.equal([undefined]);
    expect(tcp().writableLength).to.equal(0);
    refusal = undefined;
  });

  it('do not leave when the ownership is lost in their turn: the process may have been frozen in it', async () => {
    const before = received.length;
    client.send('frozen', () => {});
    lost = new Error('the ownership is gone');
    await once(far, 'close');
    expect(refused).to.deep.equal([lost]);
    expect(received.slice(before)).to.deep.equal([]);
  });
});
