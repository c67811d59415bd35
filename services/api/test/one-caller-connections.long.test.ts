import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { makeApiToken } from '@gateway/contracts/api-token';
import { RATE_LIMITS } from '@gateway/contracts/limits';
import { sleep } from '@gateway/runtime/clock';
import { expect } from 'chai';
import { ATTEMPTS, MAX_LOOP_DELAY_MS, TEXT, useAttackedApi } from './support/attacks/attacked-api.js';
import { longestTurnMs, readDelays } from './support/attacks/neighbours.js';
import { whenClosed } from './support/raw-request.js';
import { BASE } from './support/test-api.js';

const ANSWER_MS = 10_000;
/** Connections that are kept alive are not waited for. */
const ATTACK_MS = 3_000;

describe('what one caller can do to the others with connections and requests', () => {
  const api = useAttackedApi();

  it('with 15,000 requests whose answers are not read: nothing', async () => {
    await api.expectNoHarm(async () => {
      const socket = await api.open();
      socket.pause();
      socket.write(`GET ${BASE}/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(15_000));
      await api.post('/send', await api.newToken(), JSON.stringify(TEXT));
      socket.destroy();
    });
  });

  const ask = (token: string, headers: string, path = '/status') =>
    `GET ${BASE}${path} HTTP/1.1\r\nAuthorization: Bearer ${token}\r\n${headers}\r\n`;
  const lines = (count: number, value: string) =>
    Array.from({ length: count }, (_, i) => `a${i % 10}: ${value}\r\n`).join('');
  /** Of a connection that ends with the last of its answers. */
  const four = (request: string) => request.repeat(3) + request.replace('\r\n', '\r\nConnection: close\r\n');
  const begin = (token: string, headers: string) =>
    `POST ${BASE}/send HTTP/1.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${headers}\r\n`;
  const CHUNKED = 'Transfer-Encoding: chunked\r\nConnection: close\r\n';
  const PIPELINED: Record<string, [connections: number, requests: (token: string) => string]> = {
    'two hundred connections, and 3,600 requests without a token on each at once': [
      200,
      () => 'GET / HTTP/1.1\r\n\r\n'.repeat(3_600),
    ],
    'heads of 2,000 lines': [500, (token) => four(ask(token, lines(2_000, '1')))],
    'heads of 120 longer lines': [500, (token) => four(ask(token, lines(120, 'x'.repeat(110))))],
    'cookies without end': [500, (token) => four(ask(token, `Cookie: ${'a=b; '.repeat(3_000)}\r\n`))],
    'queries without end': [500, (token) => four(ask(token, '', `/status?${'a=b&'.repeat(3_800)}`))],
    'paths without end': [500, (token) => four(ask(token, '', `/messages/${'x'.repeat(15_000)}`))],
    'bodies that are asked for, and do not come': [
      500,
      (token) => begin(token, 'Expect: 100-continue\r\nContent-Length: 0\r\nConnection: close\r\n').repeat(4),
    ],
    'heads that ask for another protocol': [
      500,
      (token) => four(ask(token, 'Connection: Upgrade\r\nUpgrade: websocket\r\n')),
    ],
    'a refused body, and 200,000 chunks of a byte after it': [
      30,
      (token) => `${begin(token, CHUNKED)}9\r\n[[[[[[[[[\r\n${'1\r\n[\r\n'.repeat(200_000)}`,
    ],
    'trailers without end': [300, (token) => `${begin(token, CHUNKED)}2\r\n{}\r\n0\r\n${lines(20_000, '1')}\r\n`],
    'three hundred connections, and 1,000 requests with a token on each at once': [
      300,
      (token) => `GET ${BASE}/status HTTP/1.1\r\nAuthorization: Bearer ${token}\r\n\r\n`.repeat(1_000),
    ],
  };
  for (const [what, [connections, requests]] of Object.entries(PIPELINED)) {
    it(`with ${what}: nothing`, async () => {
      const bytes = Buffer.from(requests(await api.newToken()));
      await api.expectNoHarm(async () => {
        const sockets = await Promise.all(Array.from({ length: connections }, () => api.open()));
        const ends = sockets.map((socket) => whenClosed(socket.resume()));
        for (const socket of sockets) socket.write(bytes);
        await Promise.race([Promise.all(ends), sleep(ATTACK_MS)]);
        for (const socket of sockets) socket.destroy();
        await Promise.all(ends);
      });
    });
  }

  const UNFINISHED: Record<string, string> = {
    'many lines': `GET / HTTP/1.1\r\n${lines(125, 'y'.repeat(115))}`,
    'one line': `GET / HTTP/1.1\r\nA: ${'x'.repeat(15_800)}`,
  };
  for (const [what, head] of Object.entries(UNFINISHED)) {
    it(`with heads of ${what} on 4,500 connections, none of which ends: nothing`, async () => {
      await api.expectNoHarm(async () => {
        const sockets = await flood(4_500, head);
        await sleep(ATTACK_MS / 3);
        for (const socket of sockets) socket.destroy();
      });
    });
  }

  it('with 4,000 connections at once, and a request on each: nothing', async () => {
    const request = `GET ${BASE}/status HTTP/1.1\r\nAuthorization: Bearer wrong\r\n\r\n`;
    await api.expectNoHarm(async () => {
      const sockets = await flood(4_000, request);
      await sleep(ATTACK_MS / 3);
      for (const socket of sockets) socket.destroy();
    });
  });

  /** Of another address than the neighbours have. Resolves when the first are open. */
  async function flood(connections: number, bytes: string): Promise<Socket[]> {
    const sockets = Array.from({ length: connections }, () => {
      const socket = connect({ port: api.port, host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => {});
      socket.resume().write(bytes);
      return socket;
    });
    await once(sockets[0]!, 'connect');
    return sockets;
  }

  it('with tokens that are guessed: nothing', async () => {
    const guesses = Array.from({ length: 400 }, (_, i) => (i % 2 === 0 ? `wrong-${i}` : makeApiToken().token));
    await api.expectNoHarm(async () => {
      for (let i = 0; i < guesses.length; i += 50) {
        const guessed = guesses.slice(i, i + 50);
        const answers = await Promise.all(guessed.map((guess) => api.post('/send', guess, JSON.stringify(TEXT))));
        for (const { status } of answers) expect(status).to.be.oneOf([401, 429]);
      }
    });
  });

  it('with two thousand connections and ten thousand requests: every one is answered', async function () {
    this.retries(ATTEMPTS - 1);
    const pool = await Promise.all(Array.from({ length: 100 }, () => api.newToken()));
    const requests = pool.map(
      (each) => `GET ${BASE}/nothing HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${each}\r\n\r\n`,
    );
    const statuses: Record<string, number> = {};
    const fromLine = api.process.logs.length;
    const caller = async (_: unknown, index: number) => {
      const socket = await api.open();
      let received = '';
      socket.on('data', (data) => {
        received += data;
      });
      try {
        for (let i = 1; i <= 5; i++) {
          socket.write(requests[index % requests.length]!);
          const signal = AbortSignal.timeout(ANSWER_MS);
          while (received.split('HTTP/1.1 ').length <= i) await once(socket, 'data', { signal });
          const status = received.split('HTTP/1.1 ')[i]!.slice(0, 3);
          statuses[status] = (statuses[status] ?? 0) + 1;
        }
      } finally {
        socket.destroy();
      }
    };
    const callers = await Promise.allSettled(Array.from({ length: 2_000 }, caller));
    expect(callers.filter(({ status }) => status === 'rejected')).to.have.length(0);
    expect(Object.keys(statuses), JSON.stringify(statuses)).to.have.members(['404', '429']);
    expect(statuses[404], 'what the limits of a hundred tokens allow').to.be.at.least(100 * RATE_LIMITS.other);
    expect(statuses[404]! + statuses[429]!).to.equal(10_000);
    expect(longestTurnMs(api.process, fromLine)).to.be.at.most(MAX_LOOP_DELAY_MS);
    const { rawLoopDelayMs, isQuiet } = readDelays(api.process, fromLine);
    if (isQuiet) expect(rawLoopDelayMs).to.be.at.most(MAX_LOOP_DELAY_MS);
  });
});
