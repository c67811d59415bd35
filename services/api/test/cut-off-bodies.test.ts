import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { whenClosed } from './support/raw-request.js';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const MEGABYTE = 1024 * 1024;
const START = '{"to":"447700900001","attachment":{"type":"document","base64":"';
const LARGE = Buffer.alloc(12_000_000, 'A');
const LENGTH = 'Content-Length: 15000000\r\n\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';

const asChunk = (bytes: number) => `${bytes.toString(16)}\r\n`;

/** How a body that is mostly there comes to its end too early: what it begins with, and what its caller does then. */
const WAYS: Record<string, [head: string, leave: (socket: Socket) => unknown]> = {
  'its caller says no more': [LENGTH + START, (socket) => socket.end()],
  'a chunk of it is broken': [
    `${CHUNKED}${asChunk(START.length)}${START}\r\n${asChunk(LARGE.length)}`,
    (socket) => socket.write('\r\nXYZ\r\n'),
  ],
  'it takes too long': [LENGTH + START, () => {}],
  'its connection is reset': [LENGTH + START, (socket) => socket.resetAndDestroy()],
};

describe('a body that is cut off', () => {
  const { api } = useTestApi({ linked: true, requestTimeoutMs: 1_500 });
  const sockets: Socket[] = [];
  afterEach(() => sockets.splice(0).forEach((socket) => void socket.destroy()));

  const heldBytes = async () => Number(/gateway_body_budget_held_bytes (\d+)/.exec(await api.metrics())?.[1]);
  const arrayBytes = () => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers;
  };
  async function open(before = ''): Promise<Socket> {
    const socket = connect(api.port, '127.0.0.1').on('error', () => {});
    sockets.push(socket);
    socket.resume();
    await once(socket, 'connect');
    socket.write(before);
    return socket;
  }
  const send = (rest: string) =>
    `POST ${BASE}/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.token}\r\nContent-Type: application/json\r\n${rest}`;

  for (const [way, [head, leave]] of Object.entries(WAYS)) {
    it(`is let go of when ${way}`, async () => {
      const idle = arrayBytes();
      const socket = await open(send(head));
      socket.write(LARGE);
      await eventually(async () => (await heldBytes()) >= LARGE.length);
      leave(socket);
      await eventually(async () => (await heldBytes()) === 0);
      await eventually(() => arrayBytes() < idle + 4 * MEGABYTE);
    });
  }

  it('is not begun to be read when it was over before its caller was known', async () => {
    const socket = await open(`${send(CHUNKED)}${asChunk(START.length)}${START}\r\nXYZ\r\n`);
    await whenClosed(socket);
    expect((await api.call('GET', '/status')).status).to.equal(200);
    expect(await heldBytes()).to.equal(0);
  });

  it('is let go of when its caller leaves while an earlier request is not answered', async () => {
    const code = JSON.stringify({ phone: '447700900001', code: '482913' });
    const otp = send(`Content-Length: ${code.length}\r\n\r\n${code}`).replace('/send', '/otp');
    const socket = await open(otp + send(LENGTH + START));
    await eventually(async () => (await heldBytes()) >= START.length);
    socket.destroy();
    await eventually(async () => (await heldBytes()) === 0);
  });
});

describe('a body that its process was too busy to read', () => {
  const bodyMs = 100;
  const { api } = useTestApi({ linked: true, waits: { bodyMs } });

  it('is not too slow', async () => {
    const body = JSON.stringify({ to: '447700900001', text: 'x'.repeat(20_000) });
    const socket = connect(api.port, '127.0.0.1');
    await once(socket, 'connect');
    const head = `POST ${BASE}/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${api.token}\r\n`;
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 1)}`);
    await eventually(async () => /_held_bytes [1-9]/.test(await api.metrics()));
    const answered = once(socket, 'data');
    // Timers come before what the network has brought meanwhile.
    setImmediate(() => {
      socket.write(body.slice(1));
      const until = performance.now() + 2 * bodyMs;
      while (performance.now() < until);
    });
    const [answer] = await answered;
    expect(String(answer)).to.match(/^HTTP\/1.1 202 /);
    socket.destroy();
  });
});
