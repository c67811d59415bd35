import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { parseNetworks } from '@gateway/egress/address-rules';
import { EgressError, type EgressReason } from '@gateway/egress/egress-error';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import { type FetchLimits, fetchUrl } from '@gateway/egress/fetch-url';
import { expect } from 'chai';

/** Each leads to this machine, its network, its cloud, or to something that is no file on the web. */
const HOSTILE: Partial<Record<EgressReason, string[]>> = {
  address: [
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
    'http://192.0.0.192/opc/v2/instance/',
    'http://169.254.170.23/v1/credentials',
    'http://169.254.42.42/',
    'http://169.254.0.23/',
    'http://168.63.129.16/machine?comp=goalstate',
    'http://[::ffff:168.63.129.16]/',
    'http://0xa83f8110/',
    'http://[fd00:ec2::23]/v1/credentials',
    'http://[fd20:ce::254]/computeMetadata/v1/',
    'http://[fd00:c1::a9fe:a9fe]/opc/v2/instance/',
    'http://[fd00:42::42]/',
    // IPv4 inside IPv6 by translation and tunnels.
    'http://[64:ff9b::7f00:1]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://[64:ff9b::168.63.129.16]/',
    'http://[64:ff9b:1::7f00:1]/',
    'http://[2002:7f00:1::]/',
    'http://[2002:c0a8:1::]/',
    'http://[2001:0:7f00:1::]/',
    'http://[2001:10::1]/',
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
    'http://[3ffe::1]/',
    'http://[100::1]/',
    'http://[fec0::1]/',
    'http://[5f00::1]/',
    'http://127.0.0.1#@1.1.1.1/',
    'http://127.0.0.1\\@1.1.1.1/',
    'http:127.0.0.1',
    'http:/127.0.0.1',
    'http:\\\\127.0.0.1',
    'http:///127.0.0.1',
  ],
  port: ['http://1.1.1.1:22/', 'http://1.1.1.1:6379/', 'http://1.1.1.1:8080/'],
  scheme: [
    'http://1.1.1.1:0/',
    'https://./',
    'https://a..b/',
    'https://1.1.1.1:80800/',
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
    'http://1.1.1.1%2f@127.0.0.1/',
    'http://',
    '//127.0.0.1/',
    '127.0.0.1',
    '/etc/passwd',
  ],
};
const ALL_HOSTILE = Object.entries(HOSTILE).flatMap(([reason, urls]) => urls.map((url) => ({ reason, url })));

const MAX_BYTES = 1024 * 1024;
const LIMITS: FetchLimits = { maxBytes: MAX_BYTES, maxRedirects: 5, timeoutMs: 10_000 };

type Answer = (req: IncomingMessage, res: ServerResponse) => void;

describe('URLs of strangers', () => {
  let server: Server;
  let answer: Answer;
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

  const strict = (): FetchPolicy => ({ ports: [port, 80, 443], addresses: { allowed: [] } });
  const open = (): FetchPolicy => ({
    ports: [port, 80, 443],
    addresses: { allowed: parseNetworks('127.0.0.1/32'), denied: parseNetworks('93.184.216.0/24') },
  });
  const at = (path: string, host = '127.0.0.1') => `http://${host}:${port}${path}`;
  const get = (url: string, policy = open(), limits: Partial<FetchLimits> & { signal?: AbortSignal } = {}) =>
    fetchUrl(url, policy, { ...LIMITS, signal: new AbortController().signal, ...limits });
  async function failureOf(work: Promise<unknown>, about = ''): Promise<EgressError> {
    const failure = await work.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(failure, about).to.be.instanceOf(EgressError);
    return failure as EgressError;
  }
  const reasonOf = async (work: Promise<unknown>, about = '') => (await failureOf(work, about)).reason;

  it(`are refused for what they are, and nothing is asked: ${ALL_HOSTILE.length} of them`, async () => {
    expect(ALL_HOSTILE.length).to.be.at.least(100);
    for (const { url, reason } of ALL_HOSTILE) {
      expect(await reasonOf(get(url, strict()), url), url).to.equal(reason);
    }
    for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', '127.1', 'localhost', '2130706433']) {
      expect(await reasonOf(get(at('/', host), strict())), host).to.equal('address');
    }
    expect(await reasonOf(get('http://93.184.216.34/', open()))).to.equal('denied_network');
    expect(asked, 'no server was asked').to.deep.equal([]);
  });

  it('are told in logs by their host, without the number of a person in it', () => {
    const hosts = [
      '447700900560.invalid',
      'a4477009005601.x',
      '192.168.100.200',
      '[2001:db8::1234:5678]',
      'ec2-52-14-1.x',
      '4477-0090-0777.example',
      '447700.900777.x',
      '4.4.7.7.0.0.9.0.0.7.7.7.x',
      'four4770.0900777.x',
    ];
    expect(hosts.map((host) => new EgressError('name', host).host)).to.deep.equal([
      '***.invalid',
      'a***.x',
      ...hosts.slice(2, 5),
      '***-***-***.example',
      '***.***.x',
      `${'***.'.repeat(12)}x`,
      'four***.***.x',
    ]);
    expect(new EgressError('name', hosts[0]!).fields).to.include({ host: '***.invalid' });
  });

  it('are fetched as they are, from addresses that may be reached', async () => {
    answer = (_req, res) => res.end('the file');
    expect((await get(at('/x?y=z'))).toString()).to.equal('the file');
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
    expect((await get(at('/5'))).toString()).to.equal('arrived');
    expect(await reasonOf(get(at('/6')))).to.equal('redirects');
    const ours = ['127.0.0.1', 'localhost', 'localhost.', '[::ffff:7f00:1]', '[64:ff9b::7f00:1]'];
    const elsewhere = ALL_HOSTILE.filter(({ url }) => URL.canParse(url) && !ours.includes(new URL(url).hostname));
    for (const { url: location, reason } of elsewhere) {
      asked = [];
      answer = (_req, res) => res.writeHead(307, { location }).end();
      const failure = await failureOf(get(at('/')), location);
      expect([failure.reason, failure.host], location).to.deep.equal([reason, new URL(location).hostname]);
      expect(asked, location).to.have.length(1);
    }
  });

  it('are cut off at the size limit, declared or not', async () => {
    answer = (_req, res) => res.writeHead(200, { 'content-length': MAX_BYTES + 1 }).write('x');
    expect(await reasonOf(get(at('/')))).to.equal('too_large');
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
    expect(await reasonOf(get(at('/')))).to.equal('too_large');
    expect(written, 'beyond what the system buffers').to.be.below(MAX_BYTES + 16 * 1024 * 1024);
    answer = (_req, res) => res.end(Buffer.alloc(MAX_BYTES));
    expect(await get(at('/'))).to.have.length(MAX_BYTES);
  });

  it('are given up when they bring it in tiny pieces, each of which costs time', async () => {
    answer = (_req, res) => {
      res.socket!.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(30_000)}0\r\n\r\n`);
    };
    expect(await reasonOf(get(at('/')))).to.equal('tiny_pieces');
  });

  it('count each byte as it comes, and end when there is no room for more', async () => {
    let counted = 0;
    answer = (_req, res) => res.end(Buffer.alloc(MAX_BYTES));
    const onBytes = (bytes: number) => {
      counted += bytes;
    };
    await get(at('/'), open(), { onBytes });
    expect(counted).to.equal(MAX_BYTES);
    const full = new Error('no room');
    const refusal = await get(at('/'), open(), {
      onBytes: () => {
        throw full;
      },
    }).catch((error: Error) => error);
    expect((refusal as Error).cause ?? refusal).to.equal(full);
  });

  it('fail on error pages, encodings, cut answers and what is not HTTP', async () => {
    const answers: [EgressReason, Answer][] = [
      ['status', (_req, res) => res.writeHead(404).end('not here')],
      ['status', (_req, res) => res.writeHead(204).end()],
      ['status', (_req, res) => res.writeHead(302).end()],
      ['scheme', (_req, res) => res.writeHead(302, { location: 'http://[' }).end()],
      ['encoding', (_req, res) => res.writeHead(200, { 'content-encoding': 'gzip' }).end('x')],
      [
        'encoding',
        (req) => req.socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n'),
      ],
      ['connection', (_req, res) => res.writeHead(200, { long: 'x'.repeat(20_000) }).end('x')],
      ['connection', (req) => req.socket.end(`${'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)}HTTP/1.1 200 OK\r\n\r\nx`)],
      [
        'connection',
        (_req, res) => {
          res.writeHead(200, { 'content-length': 10 });
          res.write('x', () => res.destroy());
        },
      ],
      ['connection', (req) => req.socket.end('SSH-2.0-nothing\r\n')],
    ];
    for (const [reason, each] of answers) {
      answer = each;
      expect(await reasonOf(get(at('/'))), String(each)).to.equal(reason);
    }
  });

  it('are given up when their time is over, however busy they look', async () => {
    const drip = (res: ServerResponse) => {
      const timer = setInterval(() => res.write('x'), 20);
      res.once('close', () => clearInterval(timer));
    };
    const slow: Answer[] = [
      () => {},
      (_req, res) => drip(res),
      (req) => {
        req.socket.write('HTTP/1.1 200 OK\r\nlong: ');
        setInterval(() => req.socket.write('x'), 20).unref();
      },
      (_req, res) => void setTimeout(() => res.writeHead(302, { location: '/' }).end(), 120),
    ];
    // Node 20 forgets some timers of signals in a garbage collection.
    setFlagsFromString('--expose-gc');
    const collecting = setInterval(runInNewContext('gc') as () => void, 100);
    for (answer of slow) {
      const startedAt = performance.now();
      expect(await reasonOf(get(at('/'), open(), { timeoutMs: 400 }))).to.equal('too_slow');
      expect(performance.now() - startedAt).to.be.below(3_000);
    }
    clearInterval(collecting);
  });

  it('are given up when they bring too little, and not when they bring enough', async () => {
    const dripping = (bytesPerSecond: number): Answer => {
      return (_req, res) => {
        const startedAt = performance.now();
        let written = 0;
        const timer = setInterval(() => {
          const due = ((performance.now() - startedAt) / 1000) * bytesPerSecond;
          res.write(Buffer.alloc(Math.max(1, due - written)));
          written = Math.max(written + 1, due);
          if (performance.now() - startedAt > 600) res.end();
        }, 20);
        res.once('close', () => clearInterval(timer));
      };
    };
    answer = dripping(8 * 1024);
    expect(await reasonOf(get(at('/'), open(), { patienceMs: 200 }))).to.equal('too_slow');
    answer = dripping(64 * 1024);
    expect((await get(at('/'), open(), { patienceMs: 200 })).length).to.be.above(16 * 1024);
  });

  it('are given up when the caller is gone', async () => {
    const gone = new AbortController();
    answer = () => gone.abort();
    await failureOf(get(at('/'), open(), { signal: gone.signal }));
  });
});
