import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { SlicedSocket } from '@gateway/egress/sliced-socket';
import { expect } from 'chai';

const FILE = 'file'.repeat(25_000);

describe('a socket that is read in slices', () => {
  const makeSocket = () => new Duplex({ read() {}, write: (_piece, _encoding, done) => done() }) as Socket;

  it('is read to its end, also when the end was there before the last slice was read, as after TLS', async () => {
    const socket = makeSocket();
    const slices: number[] = [];
    const sliced = new SlicedSocket(socket, (bytes) => slices.push(bytes));
    socket.push(FILE);
    socket.push(null);
    expect(await text(sliced)).to.equal(FILE);
    expect(Math.max(...slices)).to.equal(8 * 1024);
    expect(socket.destroyed).to.equal(true);
  });

  it('is read no further than what is wanted of it', async () => {
    const socket = makeSocket();
    const sliced = new SlicedSocket(socket, () => {});
    socket.push(FILE);
    await once(sliced, 'readable');
    await new Promise((resolve) => setImmediate(resolve));
    expect(sliced.readableLength).to.equal(8 * 1024);
    sliced.destroy();
    expect(socket.destroyed).to.equal(true);
  });
});
