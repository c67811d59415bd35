import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { BaileysSocket } from '@gateway/messenger/socket/baileys';
import { readInTurns } from '@gateway/messenger/socket/read-in-turns';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { WebSocket, WebSocketServer } from 'ws';

const FRAMES = 6_000;
const FRAME = Buffer.alloc(600);
/** What a receipt of twenty ids takes. */
const WORK_MS = 0.1;

describe('frames of the network', () => {
  it('have some time of each turn of the event loop, however many come at once, and none is lost', async () => {
    const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
    await once(server, 'listening');
    const accepted = once(server, 'connection') as Promise<[WebSocket]>;
    const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const [[far]] = await Promise.all([accepted, once(socket, 'open')]);
    readInTurns({ ws: { socket } } as unknown as BaileysSocket);
    let [taken, ofTurn, most] = [0, 0, 0];
    socket.on('message', () => {
      if (ofTurn++ === 0) {
        setImmediate(() => {
          most = Math.max(most, ofTurn);
          ofTurn = 0;
        });
      }
      taken++;
      const until = performance.now() + WORK_MS;
      while (performance.now() < until);
    });
    // All is there before the first look.
    socket.pause();
    for (let frame = 0; frame < FRAMES; frame++) far.send(FRAME);
    await eventually(() => far.bufferedAmount === 0);
    socket.resume();
    await eventually(() => taken === FRAMES);
    // Those of 10 ms, and of what had been read by then.
    expect(most).to.be.below(500);
    const closed = once(socket, 'close');
    far.close();
    await closed;
    server.close();
  });
});
