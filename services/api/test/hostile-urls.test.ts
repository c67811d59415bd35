import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { fetchFile } from '@gateway/api/attachments/fetch-file';
import { isReachable, parseNetworks } from '@gateway/api/attachments/public-address';
import { LIMITS } from '@gateway/contracts/limits';
import { ApiError } from '@gateway/runtime/errors';
import { expect } from 'chai';

/** Each leads to this machine, its network, or to something that is no file on the web. */
const HOSTILE = [
  // This machine, under all its names.
  'http://127.0.0.1/',
  'http://127.0.0.1:80/admin',
  'http://127.1/',
  'http://127.000.000.001/',
  'http://127.255.255.254/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0x7f.0.0.1/',
  'http://0177.0.0.1/',
  'http://017700000001/',
  'http://0/',
  'http://0.0.0.0/',
  'http://localhost/',
  'http://LOCALHOST/',
  'http://localhost./',
  'http://localhost:443/',
  'https://localhost/',
  'http://[::1]/',
  'http://[0:0:0:0:0:0:0:1]/',
  'http://[::]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::127.0.0.1]/',
  'http://[::ffff:0:127.0.0.1]/',
  'http://①②⑦.⓪.⓪.①/',
  'http://127。0。0。1/',
  'http://%31%32%37.0.0.1/',
  // Private networks.
  'http://10.0.0.1/',
  'http://10.255.255.255/',
  'http://172.16.0.1/',
  'http://172.31.255.255/',
  'http://192.168.0.1/',
  'http://192.168.1.254/',
  'http://0xc0a80001/',
  'http://3232235521/',
  'http://100.64.0.1/',
  'http://[fc00::1]/',
  'http://[fd12:3456:789a::1]/',
  'http://[::ffff:10.0.0.1]/',
  'http://[::ffff:192.168.0.1]/',
  // Clouds' metadata services and link-local addresses.
  'http://169.254.169.254/latest/meta-data/',
  'http://169.254.170.2/v2/credentials/',
  'http://2852039166/latest/meta-data/',
  'http://0xa9fea9fe/',
  'http://[::ffff:169.254.169.254]/',
  'http://[fd00:ec2::254]/latest/meta-data/',
  'http://[fe80::1]/',
  'http://[fe80::a9fe:a9fe]/',
  'http://100.100.100.200/latest/meta-data/',
  'http://192.0.0.192/latest/',
  // IPv4 inside IPv6 by translation and tunnels.
  'http://[64:ff9b::7f00:1]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[64:ff9b:1::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[2002:c0a8:1::]/',
  'http://[2001:0:7f00:1::]/',
  // Special blocks.
  'http://192.0.2.1/',
  'http://198.18.0.1/',
  'http://198.51.100.1/',
  'http://203.0.113.1/',
  'http://224.0.0.1/',
  'http://239.255.255.250/',
  'http://240.0.0.1/',
  'http://255.255.255.255/',
  'http://[ff02::1]/',
  'http://[2001:db8::1]/',
  'http://[3fff::1]/',
  'http://[100::1]/',
  'http://[fec0::1]/',
  'http://[5f00::1]/',
  // Other ports, schemes and identities.
  'http://1.1.1.1:22/',
  'http://1.1.1.1:6379/',
  'http://1.1.1.1:8080/',
  'https://1.1.1.1:80800/',
  'http://1.1.1.1:0/',
  'file:///etc/passwd',
  'ftp://1.1.1.1/file',
  'gopher://127.0.0.1:6379/_INFO',
  'dict://127.0.0.1:11211/stats',
  'data:image/png;base64,iVBORw0KGgo=',
  'javascript:alert(1)',
  'ws://1.1.1.1/',
  'unix:/var/run/docker.sock',
  'http://user:secret@1.1.1.1/',
  'http://user@1.1.1.1/',
  'http://1.1.1.1@127.0.0.1/',
  'http://127.0.0.1#@1.1.1.1/',
  'http://127.0.0.1\\@1.1.1.1/',
  'http://1.1.1.1%2f@127.0.0.1/',
  'http:127.0.0.1',
  'http:/127.0.0.1',
  'http:\\\\127.0.0.1',
  'http:///127.0.0.1',
  'http://',
  'http://no-such-host.invalid/',
  '//127.0.0.1/',
  '127.0.0.1',
  '/etc/passwd',
];

const STRICT = { ports: [80, 443], networks: [] };
const never = new AbortController().signal;

describe('URLs of strangers', () => {
  let server: Server;
  let answer: (req: IncomingMessage, res: ServerResponse) => void;
  let asked: IncomingMessage[];
  let port: number;

  before(async () => {
    server = createServer((req, res) => {
      asked.push(req);
      answer(req, res);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    port = (server.address() as AddressInfo).port;
  });
  beforeEach(() => {
    asked = [];
  });
  after(() => server.close());

  const open = () => ({ ports: [port, 80, 443], networks: parseNetworks('127.0.0.1/32') });
  const at = (path: string, host = '127.0.0.1') => `http://${host}:${port}${path}`;
  async function failureOf(work: Promise<unknown>): Promise<ApiError> {
    const failure = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(failure, 'was fetched').to.be.instanceOf(ApiError);
    return failure as ApiError;
  }
  async function expectRefused(work: Promise<unknown>): Promise<void> {
    const { status, details } = await failureOf(work);
    expect(status).to.equal(400);
    expect(details).to.deep.equal([{ path: ['attachment', 'url'], message: 'could not be fetched' }]);
  }

  it(`lead nowhere: ${HOSTILE.length} of them`, async () => {
    expect(HOSTILE.length).to.be.at.least(60);
    for (const url of HOSTILE) {
      const startedAt = performance.now();
      await expectRefused(fetchFile(url, STRICT, never)).catch((error: Error) => {
        throw new Error(`${url}: ${error.message}`);
      });
      expect(performance.now() - startedAt, `${url} was not even tried`).to.be.below(5_000);
    }
    for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', '127.1', 'localhost', '2130706433']) {
      await expectRefused(fetchFile(at('/', host), { ports: [port], networks: [] }, never));
    }
    expect(asked, 'nobody was asked').to.deep.equal([]);
  });

  it('are fetched as they are, from addresses that may be reached', async () => {
    answer = (_req, res) => res.end('the file');
    expect((await fetchFile(at('/x?y=z'), open(), never)).toString()).to.equal('the file');
    expect(asked[0]!.url).to.equal('/x?y=z');
    expect(asked[0]!.headers).to.include({ 'accept-encoding': 'identity' });
    expect(asked[0]!.headers).not.to.have.any.keys('authorization', 'cookie');
  });

  it('are checked again at every redirect, five at most', async () => {
    answer = (req, res) => {
      const left = Number(req.url!.slice(1));
      if (left === 0) res.end('arrived');
      else res.writeHead(302, { location: `/${left - 1}` }).end();
    };
    expect((await fetchFile(at('/5'), open(), never)).toString()).to.equal('arrived');
    await expectRefused(fetchFile(at('/6'), open(), never));
    const ours = ['127.0.0.1', 'localhost', 'localhost.', '[::ffff:7f00:1]'];
    for (const location of HOSTILE) {
      if (!URL.canParse(location) || ours.includes(new URL(location).hostname)) continue;
      asked = [];
      answer = (_req, res) => res.writeHead(307, { location }).end();
      await expectRefused(fetchFile(at('/'), open(), never)).catch((error: Error) => {
        throw new Error(`${location}: ${error.message}`);
      });
      expect(asked, location).to.have.length(1);
    }
  });

  it('are cut off at the size limit, declared or not', async () => {
    answer = (_req, res) => res.writeHead(200, { 'content-length': LIMITS.maxAttachmentBytes + 1 }).write('x');
    expect((await failureOf(fetchFile(at('/'), open(), never))).status).to.equal(413);
    let written = 0;
    answer = (_req, res) => {
      const more = () => {
        if (res.destroyed) return;
        written += 65_536;
        if (res.write(Buffer.alloc(65_536))) setImmediate(more);
        else res.once('drain', more);
      };
      more();
    };
    expect((await failureOf(fetchFile(at('/'), open(), never))).status).to.equal(413);
    expect(written).to.be.below(3 * LIMITS.maxAttachmentBytes);
    answer = (_req, res) => res.end(Buffer.alloc(LIMITS.maxAttachmentBytes));
    expect(await fetchFile(at('/'), open(), never)).to.have.length(LIMITS.maxAttachmentBytes);
  });

  it('fail on error pages, encodings, cut answers and what is not HTTP', async () => {
    const answers: ((req: IncomingMessage, res: ServerResponse) => void)[] = [
      (_req, res) => res.writeHead(404).end('not here'),
      (_req, res) => res.writeHead(204).end(),
      (_req, res) => res.writeHead(302).end(),
      (_req, res) => res.writeHead(302, { location: 'http://[' }).end(),
      (_req, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end('x'),
      (req) => req.socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n'),
      (_req, res) => res.writeHead(200, { long: 'x'.repeat(20_000) }).end('x'),
      (req) => req.socket.end(`${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)}HTTP/1.1 200 OK\r\n\r\nx`),
      (_req, res) => {
        res.writeHead(200, { 'content-length': 10 });
        res.write('x', () => res.destroy());
      },
      (req) => req.socket.end('SSH-2.0-nothing\r\n'),
    ];
    for (answer of answers) await expectRefused(fetchFile(at('/'), open(), never));
  });

  it('are given up when their time is over, however busy they look', async () => {
    const drip = (res: ServerResponse) => {
      const timer = setInterval(() => res.write('x'), 20);
      res.once('close', () => clearInterval(timer));
    };
    const slow: ((req: IncomingMessage, res: ServerResponse) => void)[] = [
      () => {},
      (_req, res) => drip(res),
      (req) => void setInterval(() => req.socket.write('H'), 20).unref(),
      (_req, res) => void setTimeout(() => res.writeHead(302, { location: '/' }).end(), 120),
    ];
    // Node 20 forgets some timers of signals in a garbage collection.
    setFlagsFromString('--expose-gc');
    const collecting = setInterval(runInNewContext('gc') as () => void, 100);
    for (answer of slow) {
      const startedAt = performance.now();
      await expectRefused(fetchFile(at('/'), { ...open(), timeoutMs: 400 }, never));
      expect(performance.now() - startedAt).to.be.below(3_000);
    }
    clearInterval(collecting);
  });

  it('are given up when the caller is gone', async () => {
    answer = () => {};
    const gone = new AbortController();
    const failure = failureOf(fetchFile(at('/'), open(), gone.signal));
    setTimeout(() => gone.abort(), 50);
    expect((await failure).apiCode).to.equal('unavailable');
  });

  it('may lead to public addresses only', () => {
    for (const address of ['1.1.1.1', '8.8.8.8', '93.184.216.34', '2606:4700:4700::1111', '::ffff:8.8.8.8']) {
      expect(isReachable(address, []), address).to.equal(true);
    }
    expect(isReachable('10.1.2.3', parseNetworks('10.1.0.0/16, fd00::/8'))).to.equal(true);
    expect(isReachable('fd00::1', parseNetworks('10.1.0.0/16, fd00::/8'))).to.equal(true);
    expect(isReachable('10.2.0.1', parseNetworks('10.1.0.0/16'))).to.equal(false);
    expect(isReachable('not an address', [])).to.equal(false);
  });
});
