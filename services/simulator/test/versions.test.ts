import { eventually } from '@gateway/testkit/eventually';
import type { BinaryNode } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import WebSocket from 'ws';
import { useSimulator } from './support/simulator-fixture.js';
import type { Linked } from './support/stock-client.js';

interface Line {
  message: string;
  fields: Record<string, unknown>;
}

describe('versions of clients', () => {
  const lines: Line[] = [];
  const log = (message: string, fields: object = {}) => lines.push({ message, fields: { ...fields } });
  const network = useSimulator({ profile: '2026', logger: { debug() {}, info() {}, warn: log, error: log } });
  const version = (primary: number, secondary: number, tertiary: number) => ({
    version: [primary, secondary, tertiary] as [number, number, number],
  });

  it('refuses a client below the floor that is set while it runs, and says which came', async () => {
    const client = await network.link(version(2, 3000, 100));
    await client.socket.end(undefined);
    await network.admin('PUT', '/admin/network', { minimumVersion: [2, 3000, 200] });
    expect(await network.connect(client.state, version(2, 3000, 100)).outcome).to.deep.equal({
      open: false,
      code: 405,
    });
    expect(lines.filter(({ message }) => message === 'client is too old')).to.deep.equal([
      { message: 'client is too old', fields: { version: '2.3000.100', oldest: '2.3000.200' } },
    ]);
    await network.logIn(client.state, version(2, 3000, 200));
    await network.admin('PUT', '/admin/network', { minimumVersion: [] });
  });

  it('announces until when versions are let in, to who is there and to who comes, and takes it back', async () => {
    const client = await network.link();
    const seen = expirationsOf(client);
    await network.admin('PUT', '/admin/network', { clientExpirationMs: 1_790_000_000_000 });
    await eventually(() => expect(seen).to.deep.equal(['1790000000']));
    await client.socket.end(undefined);
    const { socket } = network.connect(client.state);
    const again = expirationsOf({ socket });
    await eventually(() => expect(again).to.deep.equal(['1790000000']));
    await network.admin('PUT', '/admin/network', { clientExpirationMs: null });
    await eventually(() => expect(again).to.deep.equal(['1790000000', undefined]));
  });

  it('tells a client of an unknown protocol so, with one line in the log', async () => {
    for (const [header, reason] of [
      [[0x57, 0x41, 7, 1], 'unknown protocol version 7.1, this server speaks version 6.3'],
      [[0x58, 0x41, 6, 3], 'unknown protocol header 58410603, this server speaks version 6.3'],
    ] as const) {
      lines.length = 0;
      const socket = new WebSocket(network.simulator.socketUrl);
      socket.on('open', () => {
        socket.send(Buffer.from([...header, 0, 0, 1, 0]));
        socket.send(Buffer.from([0, 0, 1, 0]));
      });
      const closed = await new Promise((resolve) => {
        socket.on('close', (code, text) => resolve({ code, text: text.toString() }));
      });
      expect(closed).to.deep.equal({ code: 1002, text: reason });
      expect(lines).to.deep.equal([
        { message: 'connection is cut', fields: { client: 'unlinked', reason: `Error: ${reason}` } },
      ]);
    }
  });
});

function expirationsOf({ socket }: Pick<Linked, 'socket'>): (string | undefined)[] {
  const seen: (string | undefined)[] = [];
  socket.ws.on('CB:ib,,client_expiration', ({ content }: BinaryNode) => {
    seen.push((content as BinaryNode[])[0]!.attrs.t);
  });
  return seen;
}
