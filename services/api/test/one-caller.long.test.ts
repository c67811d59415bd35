import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { makeApiToken } from '@gateway/contracts/api-token';
import { LIMITS, RATE_LIMITS } from '@gateway/contracts/limits';
import { sleep } from '@gateway/runtime/clock';
import { readBlob } from '@gateway/store/blobs/blobs';
import { createApiToken } from '@gateway/store/workspace/api-tokens';
import {
  ENDLESS_ANSWERS,
  type EndlessAnswer,
  type HostileFiles,
  startHostileFiles,
} from '@gateway/testkit/attacks/hostile-files';
import { type MemoryBound, makeMemoryBound } from '@gateway/testkit/attacks/memory-bound';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { ServiceProcess } from '@gateway/testkit/service-process';
import { expect } from 'chai';
import { makeEmptyBoxes, makeEndlessSound, makeInterlacedPng } from './support/bombs.js';
import { BODIES, file, largest, SVG } from './support/costly-bodies.js';
import { acknowledgeAll, linkDevice } from './support/device-owner.js';
import { LargeFile } from './support/large-file.js';
import { type Harm, longestTurnMs, measureHarm, readDelays, WATCH_TURNS, watchMemory } from './support/neighbours.js';
import { BASE } from './support/test-api.js';

const MAX_LOOP_DELAY_MS = 250;
const MAX_MEMORY_MB = 64;
const MAX_NEIGHBOUR_MS = 2_000;
/** A machine that is busy with something else may spoil one. */
const ATTEMPTS = 3;
const ANSWER_MS = 10_000;
/** Connections that are kept alive are not waited for. */
const ATTACK_MS = 3_000;
/** Of a container: all memory of the process, and of those that it starts. */
const CONTAINER_BYTES = 512 * 1024 * 1024;
const MEGABYTE = 1024 * 1024;

const TEXT = { to: '447700900001', text: 'hello' };
/** What each token of the pool asks before the next takes over: less than any limit. */
const PER_TOKEN = 6;

describe('what one caller can do to the others', function () {
  this.timeout(90_000);
  let space: RedisSpace;
  let api: ServiceProcess;
  let origin: string;
  let port: number;
  let files: Server;
  const downloads: ServerResponse[] = [];
  let hostile: HostileFiles;
  let stopSender: () => Promise<void>;
  let bound: MemoryBound | undefined;
  let stopWatch = () => {};

  before(async () => {
    files = createServer((_req, res) => {
      downloads.push(res);
      res.writeHead(200, { 'content-length': LIMITS.maxAttachmentBytes }).write(Buffer.alloc(1_000));
    });
    await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
    hostile = await startHostileFiles();
    space = await openRedisSpace();
    stopSender = acknowledgeAll(space.store, await linkDevice(space.store));
    bound = makeMemoryBound(CONTAINER_BYTES);
    if (!bound) console.warn('no control group can be made here: memory is looked at, and not limited');
    api = await ServiceProcess.start(
      'api',
      {
        REDIS_URL: space.url,
        KEY_PREFIX: space.prefix,
        CONTENT_KEYS: space.keySettings.CONTENT_KEYS,
        API_PORT: '0',
        OPS_PORT: '0',
        ATTACHMENT_NETWORKS: '127.0.0.1/32',
        ATTACHMENT_PORTS: `${(files.address() as AddressInfo).port},${hostile.port}`,
        // Of a container Node knows as much by itself.
        NODE_OPTIONS: `${WATCH_TURNS}${bound ? '' : ' --max-old-space-size=256'}`,
      },
      bound && { prefix: bound.prefix },
    );
    if (!bound) stopWatch = watchMemory(api, CONTAINER_BYTES / MEGABYTE);
    port = Number((await api.waitForLog(({ message }) => message === 'api listens')).port);
    origin = `http://127.0.0.1:${port}${BASE}`;
    // What is made once is made now.
    await post('/send', await newToken(), file(largest));
    for (let round = 0; round < 30; round++) await askAsOthers(round);
  });
  after(async () => {
    stopWatch();
    expect(await api.stop()).to.equal(true);
    bound?.remove();
    await stopSender();
    files.close();
    hostile.close();
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
    if (round % 4 === 0) return post('/send', token, JSON.stringify(TEXT));
    // Answered at once: its check is all that is asked for.
    if (round % 4 === 1) return post('/otp', token, JSON.stringify({ phone: '447700900001', code: '12' }));
    if (round % 4 === 2) return post('/otp', token, JSON.stringify({ phone: '447700900001', code: '123456' }));
    const response = await fetch(`${origin}/status`, { headers: { authorization: `Bearer ${token}` } });
    await response.text();
    return response;
  }

  async function expectNoHarm(attack: () => Promise<void>): Promise<Harm> {
    for (let attempt = 1; ; attempt++) {
      const harm = await measureHarm(api, askAsOthers, attack);
      console.log(`        ${JSON.stringify(harm)}`);
      expect(Object.keys(harm.neighbours), JSON.stringify(harm)).to.have.members(['200', '202', '400']);
      expect([api.isRunning, bound?.kills() ?? 0], 'alive, and no process of it killed').to.deep.equal([true, 0]);
      if (attempt < ATTEMPTS && !isHarmless(harm)) continue;
      expectHarmless(harm);
      return harm;
    }
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
    await expectNoHarm(async () => {
      const attacker = await newToken();
      const head = `POST ${BASE}/send HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attacker}\r\nContent-Type: application/json\r\n`;
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
      const bytes = Buffer.from(requests(await newToken()));
      await expectNoHarm(async () => {
        const sockets = await Promise.all(Array.from({ length: connections }, open));
        const ends = sockets.map((socket) => once(socket.resume(), 'close'));
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
      await expectNoHarm(async () => {
        const sockets = await flood(4_500, head);
        await sleep(ATTACK_MS / 3);
        for (const socket of sockets) socket.destroy();
      });
    });
  }

  it('with 4,000 connections at once, and a request on each: nothing', async () => {
    const request = `GET ${BASE}/status HTTP/1.1\r\nAuthorization: Bearer wrong\r\n\r\n`;
    await expectNoHarm(async () => {
      const sockets = await flood(4_000, request);
      await sleep(ATTACK_MS / 3);
      for (const socket of sockets) socket.destroy();
    });
  });

  /** Of another address than the neighbours have. Resolves when the first are open. */
  async function flood(connections: number, bytes: string): Promise<Socket[]> {
    const sockets = Array.from({ length: connections }, () => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' }).on('error', () => {});
      socket.resume().write(bytes);
      return socket;
    });
    await once(sockets[0]!, 'connect');
    return sockets;
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
    });
  });

  it('with files that keep a decoder busy, or that none reads: nothing', async () => {
    const attachments = [
      { type: 'document', filename: 'x.svg', base64: Buffer.from(SVG).toString('base64') },
      { type: 'image', base64: makeInterlacedPng(7_000, 7_000).toString('base64') },
      { type: 'image', base64: makeInterlacedPng(2_800, 2_800).toString('base64') },
      { type: 'video', base64: makeEmptyBoxes(500_000).toString('base64') },
      { type: 'audio', base64: makeEndlessSound(2 * 1024 * 1024).toString('base64') },
    ];
    const bodies = attachments.map((attachment) => JSON.stringify({ to: TEXT.to, attachment }));
    await expectNoHarm(async () => {
      const attacker = await newToken();
      const answers = await Promise.all(bodies.map((body) => post('/send', attacker, body)));
      expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 202));
    });
  });

  it('with a hundred of the largest files at once: what is accepted is whole, and memory is what the settings say', async () => {
    const [, budget] = /gateway_body_budget_bytes\{kind="capacity".*?\} (\d+)/.exec(await api.metrics()) ?? [];
    const budgetMb = Number(budget) / MEGABYTE;
    if (bound) expect(budgetMb).to.equal(CONTAINER_BYTES / MEGABYTE / 4);
    for (const [tokens, files] of [
      [5, 6],
      [10, 10],
    ] as const) {
      const accepted: LargeFile[] = [];
      const harm = await measureHarm(api, askAsOthers, async () => {
        const attackers = await Promise.all(Array.from({ length: tokens }, newToken));
        const requests = attackers.flatMap((attacker) =>
          Array.from({ length: files }, async () => {
            const sent = new LargeFile();
            const { status, retryAfter } = await sent.post(`${origin}/send`, attacker);
            if (status === 202) accepted.push(sent);
            else expect([status, retryAfter]).to.deep.equal([503, '1']);
          }),
        );
        await Promise.all(requests);
      });
      console.log(`        ${JSON.stringify({ accepted: accepted.length, budgetMb, ...harm })}`);
      expect(accepted.length).to.be.at.least(tokens / 2);
      for (const { hash, sizeBytes } of accepted) {
        expect(await readBlob(space.store, 'main', { hash, sizeBytes }), 'whole').to.have.length(sizeBytes);
      }
      expect([api.isRunning, bound?.kills() ?? 0]).to.deep.equal([true, 0]);
      expect(Object.keys(harm.neighbours), JSON.stringify(harm)).to.have.members(['200', '202', '400']);
      expect(harm.memoryMb, JSON.stringify(harm)).to.be.at.most(budgetMb + MAX_MEMORY_MB / 2);
      expect(harm.loopDelayMs, JSON.stringify(harm)).to.be.at.most(MAX_LOOP_DELAY_MS);
    }
  });

  it('with URLs of files that never come: nothing', async () => {
    const url = `http://127.0.0.1:${(files.address() as AddressInfo).port}/file`;
    const body = JSON.stringify({ to: TEXT.to, attachment: { type: 'document', url } });
    await expectNoHarm(async () => {
      const attacker = await newToken();
      let waiting = 25;
      const slow = Array.from({ length: waiting }, () => post('/send', attacker, body).finally(() => waiting--));
      await eventually(() => downloads.length >= LIMITS.attachmentFetchesPerToken);
      expect((await post('/send', await newToken(), file(largest))).status, 'the file of another').to.equal(202);
      await eventually(() => {
        for (const download of downloads.splice(0)) download.destroy();
        return waiting === 0;
      });
      for (const answer of await Promise.all(slow)) expect(answer.status).to.equal(400);
    });
  });

  const HOSTILE: Record<string, [tokens: number, answers: EndlessAnswer[]]> = {
    'header lines without end': [1, ['header lines']],
    'trailers without end': [1, ['trailers']],
    'early hints without end': [1, ['early hints']],
    'chunks of a byte without end': [1, ['chunks of a byte']],
    'whatever else has no end, for five tokens': [5, ENDLESS_ANSWERS],
  };
  for (const [what, [tokens, answers]] of Object.entries(HOSTILE)) {
    it(`with 25 URLs at a time whose servers answer ${what}: nothing`, async () => {
      let statuses: number[] = [];
      const { isQuiet } = await expectNoHarm(async () => {
        const attackers = await Promise.all(Array.from({ length: tokens }, newToken));
        const asked = attackers.flatMap((attacker) =>
          Array.from({ length: 25 }, (_, i) => {
            const url = hostile.urlOf(answers[i % answers.length]!);
            return post('/send', attacker, JSON.stringify({ to: TEXT.to, attachment: { type: 'document', url } }));
          }),
        );
        statuses = (await Promise.all(asked)).map(({ status }) => status);
      });
      // Of an answer that is followed by others the first is taken.
      const allowed = [400, ...(answers.length > 1 ? [202] : []), ...(isQuiet ? [] : [503])];
      for (const status of statuses)
        expect(status, 'none is waited for so long that others find no turn').to.be.oneOf(allowed);
    });
  }

  it('with tokens that are guessed: nothing', async () => {
    const guesses = Array.from({ length: 400 }, (_, i) => (i % 2 === 0 ? `wrong-${i}` : makeApiToken().token));
    await expectNoHarm(async () => {
      for (let i = 0; i < guesses.length; i += 50) {
        const guessed = guesses.slice(i, i + 50);
        const answers = await Promise.all(guessed.map((guess) => post('/send', guess, JSON.stringify(TEXT))));
        for (const { status } of answers) expect(status).to.be.oneOf([401, 429]);
      }
    });
  });

  it('with two thousand connections and ten thousand requests: every one is answered', async function () {
    this.retries(ATTEMPTS - 1);
    const pool = await Promise.all(Array.from({ length: 100 }, newToken));
    const requests = pool.map(
      (each) => `GET ${BASE}/nothing HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${each}\r\n\r\n`,
    );
    const statuses: Record<string, number> = {};
    const fromLine = api.logs.length;
    const caller = async (_: unknown, index: number) => {
      const socket = await open();
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
    expect(longestTurnMs(api, fromLine)).to.be.at.most(MAX_LOOP_DELAY_MS);
    const { rawLoopDelayMs, isQuiet } = readDelays(api, fromLine);
    if (isQuiet) expect(rawLoopDelayMs).to.be.at.most(MAX_LOOP_DELAY_MS);
  });
});

function isHarmless(harm: Harm): boolean {
  const { isQuiet, loopDelayMs, rawLoopDelayMs, memoryMb, slowestNeighbourMs, rawNeighbourMs } = harm;
  const [delayMs, neighbourMs] = isQuiet ? [rawLoopDelayMs, rawNeighbourMs] : [0, 0];
  return (
    Math.max(loopDelayMs, delayMs) <= MAX_LOOP_DELAY_MS &&
    memoryMb <= MAX_MEMORY_MB &&
    Math.max(slowestNeighbourMs, neighbourMs) < MAX_NEIGHBOUR_MS
  );
}

function expectHarmless(harm: Harm): void {
  const what = JSON.stringify(harm);
  expect(harm.loopDelayMs, what).to.be.at.most(MAX_LOOP_DELAY_MS);
  if (harm.isQuiet) expect(harm.rawLoopDelayMs, what).to.be.at.most(MAX_LOOP_DELAY_MS);
  expect(harm.memoryMb, what).to.be.at.most(MAX_MEMORY_MB);
  expect(harm.slowestNeighbourMs, what).to.be.below(MAX_NEIGHBOUR_MS);
  if (harm.isQuiet) expect(harm.rawNeighbourMs, what).to.be.below(MAX_NEIGHBOUR_MS);
}
