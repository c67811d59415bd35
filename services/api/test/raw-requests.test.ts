import { once } from 'node:events';
import { connect } from 'node:net';
import { brotliCompressSync, deflateSync } from 'node:zlib';
import { LIMITS, RATE_LIMITS } from '@gateway/contracts/limits';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { checkAnswer } from './support/openapi-check.js';
import { exchange, type RawAnswer } from './support/raw-request.js';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const TEXT = JSON.stringify({ to: '447700900001', text: 'hello' });
const JSON_TYPE = 'Content-Type: application/json';
const CHUNKED = 'Transfer-Encoding: chunked';
const TIMEOUT_MS = 2_000;
const inChunks = (body: string) => `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;

describe('requests that no client library would write', () => {
  const { api } = useTestApi({ once: true, linked: true, requestTimeoutMs: TIMEOUT_MS });
  let token: string;
  beforeEach(async () => {
    token = (await api.newToken()).value;
  });

  const head = (method: string, path: string, headers: string[] = [], version = '1.1') =>
    [`${method} ${path} HTTP/${version}`, 'Host: x', `Authorization: Bearer ${token}`, ...headers, '', ''].join('\r\n');
  const post = (headers: string[], body: string | Buffer = TEXT) => [
    head('POST', `${BASE}/send`, [`Content-Length: ${Buffer.byteLength(body)}`, ...headers]),
    body,
  ];
  /** In the shape of the contract, and nothing but JSON. */
  function check(what: string, { status, headers, body }: RawAnswer, method = 'POST', path = '/send'): void {
    expect(headers.get('content-type'), what).to.equal('application/json; charset=utf-8');
    checkAnswer(method, path, { status, headers, body: JSON.parse(body) });
  }
  async function expectStatus(status: number, request: (string | Buffer)[]): Promise<RawAnswer> {
    const [answer] = await exchange(api.port, request);
    const what = String(request[0]).slice(0, 200);
    check(what, answer!);
    expect(answer!.status, what).to.equal(status);
    return answer!;
  }

  it('are refused with 415 when their body is packed, or not JSON in UTF-8', async () => {
    await expectStatus(415, post([JSON_TYPE, 'Content-Encoding: br'], brotliCompressSync(TEXT)));
    await expectStatus(415, post([JSON_TYPE, 'Content-Encoding: deflate'], deflateSync(TEXT)));
    await expectStatus(415, post([JSON_TYPE, 'Content-Encoding: gzip, identity']));
    await expectStatus(415, [
      head('POST', `${BASE}/send`, [JSON_TYPE, 'Transfer-Encoding: gzip, chunked']),
      inChunks(TEXT),
    ]);
    for (const type of ['application/json; charset=utf-16', 'application/problem+json', 'text/json', '*/*', '']) {
      await expectStatus(415, post([`Content-Type: ${type}`]));
    }
    await expectStatus(415, post([]));
  });

  it('are understood when they are unusual only', async () => {
    await expectStatus(202, post([JSON_TYPE, 'Content-Encoding: identity']));
    await expectStatus(202, post(['Content-Type: APPLICATION/json;charset="UTF-8"'], `\ufeff  ${TEXT}\n`));
    await expectStatus(202, [head('POST', `${BASE}/send`, [JSON_TYPE, CHUNKED]), inChunks(TEXT)]);
    await expectStatus(202, [head('POST', `${BASE}/send`, [JSON_TYPE, `Content-Length: ${TEXT.length}`], '1.0'), TEXT]);
    await expectStatus(202, post([JSON_TYPE, 'Expect: cake']));
    await expectStatus(202, post([JSON_TYPE, 'Connection: Upgrade', 'Upgrade: websocket']));
  });

  it('are not told to go on when they are of HTTP/1.0, which knows no answer before the answer', async () => {
    const asks = [JSON_TYPE, 'Expect: 100-continue', `Content-Length: ${TEXT.length}`];
    const socket = connect(api.port, '127.0.0.1').setEncoding('utf8');
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    socket.write(head('POST', `${BASE}/send`, asks, '1.0') + TEXT);
    await eventually(() => received.endsWith('}'));
    expect(received).to.match(/^HTTP\/1\.1 202 /);
    socket.destroy();
  });

  function expectLimit({ headers }: RawAnswer, limit?: number): void {
    const read = (name: string) => Number(headers.get(`x-ratelimit-${name}`) ?? Number.NaN);
    if (limit !== undefined) expect(read('limit')).to.equal(limit);
    expect(read('remaining')).to.be.within(0, read('limit') - 1);
    expect(read('reset') - Date.now() / 1000).to.be.within(0, 61);
  }

  it('lose none of 128 headers, and are refused with 431 when they have more', async () => {
    const [first, host, ...rest] = head('GET', `${BASE}/status`).split('\r\n');
    for (const [count, status] of [
      [126, 200],
      [127, 431],
      [2_100, 431],
    ] as const) {
      const many = Array.from({ length: count }, (_, i) => `${i}:`);
      const [answer] = await exchange(api.port, [[first, host, ...many, ...rest].join('\r\n')]);
      check(`${count}`, answer!, 'GET', '/status');
      expect([answer!.status, answer!.headers.get('connection')]).to.deep.equal([
        status,
        status === 431 ? 'close' : 'keep-alive',
      ]);
      expectLimit(answer!, status === 431 ? LIMITS.tokenlessPerMinute : RATE_LIMITS.status);
    }
  });

  it('are refused with 400 when they are not HTTP, or could be read in two ways', async () => {
    const path = `${BASE}/send`;
    const broken: (string | Buffer)[][] = [
      [head('POST', path, [JSON_TYPE, CHUNKED, 'Content-Length: 5']), inChunks(TEXT)],
      [head('POST', path, [JSON_TYPE, `Content-Length: ${TEXT.length}`, 'Content-Length: 45']), TEXT],
      [head('POST', path, [JSON_TYPE, 'Content-Length: -1']), TEXT],
      [head('POST', path, [JSON_TYPE, 'Content-Length: 0x2c']), TEXT],
      [head('POST', path, [JSON_TYPE, CHUNKED]), `zz\r\n${TEXT}\r\n0\r\n\r\n`],
      [head('POST', path, ['X Y: 1'])],
      [head('POST', path, ['X: a\0b'])],
      [head('POST', path, ['X: a', ' folded'])],
      [head('POST', `${BASE}/s\u00e4nd`)],
      [head('BREW', path)],
      [head('post', path)],
      [head('POST', path).replaceAll('\r\n', '\n')],
      ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
      [Buffer.from('16030100c8010000c40303', 'hex')],
    ];
    for (const request of broken) {
      const answer = await expectStatus(400, request);
      expect(JSON.parse(answer.body).error).to.equal('Invalid request data');
      expectLimit(answer);
    }
    expectLimit(await expectStatus(431, [head('POST', path, [`X: ${'x'.repeat(17_000)}`])]), LIMITS.tokenlessPerMinute);
    expectLimit(await expectStatus(431, [head('POST', `${path}?${'x'.repeat(17_000)}`)]), LIMITS.tokenlessPerMinute);
  });

  it('have the headers of a limit, too, when what follows them is no request and comes with them', async () => {
    const asked = head('GET', `${BASE}/status`);
    // Of those who come at once, most are answered before their request has had its turn.
    const atOnce = Array.from({ length: 20 }, () => expectStatus(400, [`${asked}NOT HTTP\r\n\r\n`]));
    for (const answer of await Promise.all(atOnce)) expectLimit(answer, LIMITS.tokenlessPerMinute);
    const tooLong = head('GET', `${BASE}/status`, [`X: ${'x'.repeat(17_000)}`]);
    expectLimit(await expectStatus(431, [`${asked}${tooLong}`]), LIMITS.tokenlessPerMinute);
  });

  it('have done nothing when they were answered as broken', async () => {
    const body = post([JSON_TYPE]).join('');
    await Promise.all(Array.from({ length: 5 }, () => expectStatus(400, [`${body}NOT HTTP\r\n\r\n`])));
    const { body: list } = await api.call('GET', '/messages', { token });
    expect(list.messages).to.deep.equal([]);
  });

  it('have the headers of their limit when too much comes after their body (431)', async () => {
    const trailers = `0\r\nX: ${'x'.repeat(17_000)}\r\n\r\n`;
    const chunk = `${TEXT.length.toString(16)}\r\n${TEXT}\r\n`;
    const answer = await expectStatus(431, [head('POST', `${BASE}/send`, [JSON_TYPE, CHUNKED]), chunk, trailers]);
    expectLimit(answer, RATE_LIMITS.send);
  });

  it('are unknown (404) when they only look like a path of ours', async () => {
    const paths = [
      ...[
        '/status/',
        '/STATUS',
        '//status',
        '/status%00',
        '/status%2f',
        '/status;x=1',
        '/%2e%2e/v1/status',
        '/st%61tus/x',
      ],
      ...['/messages/%2e%2e%2fstatus', '/messages/%00', '/messages/__proto__', `/messages/${'x'.repeat(8_000)}`],
    ].map((path) => BASE + path);
    for (const path of [...paths, `/${BASE}/status`, '/', '*', BASE, `${BASE}/docs/`]) {
      const [answer] = await exchange(api.port, [head('GET', path)]);
      check(path, answer!);
      expect(answer!.status, path.slice(0, 100)).to.equal(404);
    }
  });

  it('are refused with 405 whatever the method is called, tunnels too', async () => {
    for (const method of ['TRACE', 'PROPFIND', 'M-SEARCH', 'PURGE', 'OPTIONS', 'CONNECT']) {
      const { headers } = await expectStatus(405, [head(method, `${BASE}/send`)]);
      expect(headers.get('allow')).to.equal('POST');
    }
    const [tunnel] = await exchange(api.port, [head('CONNECT', 'example.com:443')]);
    check('a tunnel', tunnel!);
    expect(tunnel!.status).to.equal(404);
    const [stranger] = await exchange(api.port, ['CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n']);
    expect(stranger!.status).to.equal(401);
  });

  it('for a tunnel leave no connection behind, whatever is sent into it', async () => {
    const socket = connect({ port: api.port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => {}).resume();
    socket.write('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n');
    const sending = setInterval(() => socket.writable && socket.write(Buffer.alloc(64 * 1024)), 20);
    try {
      await eventually(() => socket.closed);
    } finally {
      clearInterval(sending);
      socket.destroy();
    }
  });

  it('for a tunnel that does not wait for the answer before it end the connection with that answer', async () => {
    const tunnel = 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n';
    for (const first of [head('GET', `${BASE}/status`), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', tunnel]) {
      const socket = connect(api.port, '127.0.0.1');
      let received = '';
      socket.on('data', (data) => {
        received += data;
      });
      socket.write(first + tunnel + tunnel);
      try {
        await eventually(() => socket.closed);
        expect(received.match(/HTTP\/1\.1 (200|401) /g), received).to.have.length(1);
      } finally {
        socket.destroy();
      }
    }
  });

  it('are all answered, in order, when they come without waiting for the answers', async () => {
    const three = head('GET', `${BASE}/status`) + head('GET', '/nothing') + post([JSON_TYPE]).join('');
    const answers = await exchange(api.port, [three, head('GET', `${BASE}/messages/x`)], { answers: 4 });
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 404, 202, 404]);
  });

  it('are answered where they have come by the time at which a process looks that had no time before', async () => {
    const socket = connect(api.port, '127.0.0.1');
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    const [first, second] = [post([JSON_TYPE]).join(''), head('GET', `${BASE}/status`)];
    await once(socket, 'connect');
    // By then it is accepted.
    expect((await api.call('GET', '/status')).status).to.equal(200);
    socket.write(first);
    const until = performance.now() + TIMEOUT_MS + 500;
    while (performance.now() < until);
    await eventually(() => received.includes('HTTP/1.1 '));
    expect(received).to.match(/^HTTP\/1\.1 202 /);
    socket.write(second);
    await eventually(() => /HTTP\/1\.1 200 /.test(received));
    socket.destroy();
  });

  it('never begin on a connection that closes after a while, without a word', async () => {
    const socket = connect(api.port, '127.0.0.1');
    let received = '';
    socket.on('data', (data) => {
      received += data;
    });
    await eventually(() => socket.closed);
    expect(received).to.equal('');
  });

  it('keep their id and limits to the end, also when they end too late', async () => {
    const slow = [
      head('POST', `${BASE}/send`, [JSON_TYPE, `Content-Length: ${TEXT.length}`, 'X-Request-Id: slow-1']),
      '{"to":',
    ];
    const { headers } = await expectStatus(408, slow);
    expect(headers.get('x-request-id')).to.equal('slow-1');
    expect(headers.get('x-ratelimit-remaining')).to.equal('29');
    expect(headers.get('connection')).to.equal('close');
  });

  it('cannot reach a prototype, nor make us work with names without end', async () => {
    const sent = (body: object | string) =>
      exchange(api.port, post([JSON_TYPE], typeof body === 'string' ? body : JSON.stringify(body)));
    const own = '"to":"447700900001","text":"x"';
    for (const [body, path] of [
      [`{${own},"__proto__":{"a":1}}`, ['__proto__']],
      [`{${own},"constructor":{"prototype":{"a":1}}}`, ['constructor']],
      [`{${own},"attachment":{"type":"document","base64":"AAAA","__proto__":{"a":1}}}`, ['attachment', '__proto__']],
    ] as const) {
      const [answer] = await sent(body);
      expect(answer!.status).to.equal(400);
      expect(JSON.parse(answer!.body).details[0].path).to.deep.equal(path);
    }
    // Of the processor: how long that takes is up to what else the machine does.
    const before = process.cpuUsage();
    for (const [count, details] of [
      [11_000, 100],
      [200_000, 1],
    ] as const) {
      const names = Object.fromEntries(Array.from({ length: count }, (_, i) => [`name${i}`, 1]));
      const [answer] = await sent({ to: '447700900001', attachment: { type: 'document', base64: 'AAAA', ...names } });
      expect(answer!.status).to.equal(400);
      expect(JSON.parse(answer!.body).details).to.have.length(details);
    }
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).to.be.below(5_000);
  });
});
