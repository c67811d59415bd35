import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { LIMITS } from '@gateway/contracts/limits';
import { createApiToken } from '@gateway/store/api-tokens';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { ServiceProcess } from '@gateway/testkit/service-process';
import { expect } from 'chai';
import { linkDevice } from './support/device-owner.js';
import { measureHarm } from './support/neighbours.js';
import { BASE } from './support/test-api.js';

const MAX_LOOP_DELAY_MS = 250;
/** Of attacks that are many requests: each is work, even when it is answered at once. */
const MAX_DELAY_OF_MANY_MS = 500;
const MAX_MEMORY_MB = 64;
const MAX_BODY_BYTES = 16_000_000;

const TEXT = { to: '447700900001', text: 'hello' };
/** What each token of the pool asks before the next takes over: less than any limit. */
const PER_TOKEN = 6;

/** Repeats `piece` until the body is as long as one may be. */
function fill(piece: string, before = '', after = ''): Buffer {
  const times = Math.floor((MAX_BODY_BYTES - before.length - after.length) / piece.length);
  return Buffer.from(before + piece.repeat(times) + after);
}

const file = (base64: string) =>
  Buffer.from(`{"to":"447700900001","attachment":{"type":"document","base64":"${base64}"}}`);
const largest = Buffer.alloc(LIMITS.maxAttachmentBytes, 'file').toString('base64');

/** What is sent, and the answer it gets. */
const BODIES: Record<string, () => [body: Buffer, status: number]> = {
  'sixteen megabytes of [': () => [fill('['), 400],
  'five million empty lists': () => [fill('[],', '[', '[]]'), 400],
  'more than a million names': () => [fill('"k1234567":1,', '{', '"k":1}'), 400],
  'nesting inside the attachment': () => [fill('[', '{"to":"447700900001","attachment":{"base64":'), 400],
  'names inside the attachment': () => [fill('"k1234567":1,', '{"to":"447700900001","attachment":{', '"k":1}}'), 400],
  'a text without end': () => [fill('x', '{"to":"447700900001","text":"', '"}'), 413],
  'a megabyte of wrong numbers': () => [Buffer.from(JSON.stringify({ to: Array(10_000).fill('x'.repeat(95)) })), 400],
  'a megabyte with a byte that is no UTF-8': () => [
    Buffer.from(`{"text":"${'x'.repeat(1_000_000)}\xff"}`, 'latin1'),
    400,
  ],
  'base64 that is none': () => [
    fill('AAA*', '{"to":"447700900001","attachment":{"type":"document","base64":"', '"}}'),
    400,
  ],
  'the largest file': () => [file(largest), 202],
  'a file that is all escapes': () => [file('\\u0041'.repeat(2_600_000)), 202],
};

describe('what one caller can do to the others', function () {
  this.timeout(90_000);
  let space: RedisSpace;
  let api: ServiceProcess;
  let origin: string;
  let port: number;

  before(async () => {
    space = await openRedisSpace();
    await linkDevice(space.store);
    api = await ServiceProcess.start('api', {
      REDIS_URL: space.url,
      KEY_PREFIX: space.prefix,
      CONTENT_KEYS: space.keySettings.CONTENT_KEYS,
      API_PORT: '0',
      OPS_PORT: '0',
      // As a container of 512 MiB has it: beyond this the process ends.
      NODE_OPTIONS: '--max-old-space-size=256',
    });
    port = Number((await api.waitForLog(({ message }) => message === 'api listens')).port);
    origin = `http://127.0.0.1:${port}${BASE}`;
    // What is made once is made now.
    await post('/send', await newToken(), file(largest));
    for (let round = 0; round < 30; round++) await askAsOthers(round);
  });
  after(async () => {
    expect(await api.stop()).to.equal(true);
    await space.close();
  });

  const newToken = async () => (await createApiToken(space.store, 'main', { name: 'test' })).value;
  const post = async (path: string, token: string, body: Buffer | string) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${origin}${path}`, { method: 'POST', headers, body });
    await response.text();
    return response;
  };

  let token: string;
  let used = 0;
  async function askAsOthers(round: number): Promise<{ status: number }> {
    if (used++ % PER_TOKEN === 0) token = await newToken();
    if (round % 3 === 0) return post('/send', token, JSON.stringify(TEXT));
    // Answered at once: its check is all that is asked for.
    if (round % 3 === 1) return post('/otp', token, JSON.stringify({ phone: '447700900001', code: '12' }));
    const response = await fetch(`${origin}/status`, { headers: { authorization: `Bearer ${token}` } });
    await response.text();
    return response;
  }

  async function expectNoHarm(attack: () => Promise<void>, maxLoopDelayMs = MAX_LOOP_DELAY_MS): Promise<void> {
    const harm = await measureHarm(api, askAsOthers, attack);
    const what = JSON.stringify(harm);
    expect(Object.keys(harm.neighbours), what).to.have.members(['200', '202', '400']);
    expect(harm.loopDelayMs, what).to.be.at.most(maxLoopDelayMs);
    expect(harm.memoryMb, what).to.be.at.most(MAX_MEMORY_MB);
    expect(api.isRunning).to.equal(true);
  }

  async function open(): Promise<Socket> {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    await once(socket, 'connect');
    return socket;
  }

  for (const [what, make] of Object.entries(BODIES)) {
    it(`with ${what}: nothing`, async () => {
      const [body, status] = make();
      const attacker = await newToken();
      await expectNoHarm(async () => void expect((await post('/send', attacker, body)).status).to.equal(status));
    });
  }

  it('with bodies that are announced and then trickle: nothing', async () => {
    const attacker = await newToken();
    const head = `POST ${BASE}/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attacker}\r\nContent-Type: application/json\r\n`;
    await expectNoHarm(async () => {
      const sockets = await Promise.all(Array.from({ length: 25 }, open));
      for (const socket of sockets) socket.write(`${head}Content-Length: 15000000\r\n\r\n{"to":`);
      expect((await post('/send', await newToken(), file(largest))).status, 'the file of another').to.equal(202);
      for (const socket of sockets) socket.destroy();
    });
  });

  it('with 15,000 requests whose answers are not read: nothing', async () => {
    await expectNoHarm(async () => {
      const socket = await open();
      socket.pause();
      socket.write(`GET ${BASE}/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(15_000));
      await post('/send', await newToken(), JSON.stringify(TEXT));
      socket.destroy();
    });
  });

  const PIPELINED: Record<string, [connections: number, requests: (token: string) => string]> = {
    'two hundred connections, and 3,600 requests without a token on each at once': [
      200,
      () => 'GET / HTTP/1.1\r\n\r\n'.repeat(3_600),
    ],
    'three hundred connections, and 1,000 requests with a token on each at once': [
      300,
      (token) => `GET ${BASE}/status HTTP/1.1\r\nAuthorization: Bearer ${token}\r\n\r\n`.repeat(1_000),
    ],
  };
  for (const [what, [connections, requests]] of Object.entries(PIPELINED)) {
    it(`with ${what}: nothing`, async () => {
      const bytes = requests(await newToken());
      await expectNoHarm(async () => {
        const sockets = await Promise.all(Array.from({ length: connections }, open));
        const ends = sockets.map((socket) => once(socket.resume(), 'close'));
        for (const socket of sockets) socket.write(bytes);
        await Promise.all(ends);
      }, MAX_DELAY_OF_MANY_MS);
    });
  }

  it('with ten files that are cut off before their end: nothing', async () => {
    const attacker = await newToken();
    const head = `POST ${BASE}/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attacker}\r\nContent-Type: application/json\r\n`;
    const most = file(largest).subarray(0, 13_000_000);
    await expectNoHarm(async () => {
      for (let i = 0; i < 10; i++) {
        const socket = await open();
        socket.resume().write(`${head}Content-Length: 13900000\r\n\r\n`);
        socket.end(most);
        await once(socket, 'close');
      }
    }, MAX_DELAY_OF_MANY_MS);
  });

  it('with two thousand connections and ten thousand requests: every one is answered', async () => {
    const pool = await Promise.all(Array.from({ length: 100 }, newToken));
    const requests = pool.map(
      (each) => `GET ${BASE}/nothing HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${each}\r\n\r\n`,
    );
    let answers = 0;
    const caller = async (_: unknown, index: number) => {
      const socket = await open();
      let received = '';
      socket.on('data', (data) => {
        received += data;
      });
      for (let i = 1; i <= 5; i++) {
        socket.write(requests[index % requests.length]!);
        while (received.split('HTTP/1.1 ').length <= i) await once(socket, 'data');
        answers++;
      }
      socket.destroy();
    };
    await Promise.all(Array.from({ length: 2_000 }, caller));
    expect(answers).to.equal(10_000);
  });
});
