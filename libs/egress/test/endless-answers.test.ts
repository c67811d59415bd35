import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { parseNetworks } from '@gateway/egress/address-rules';
import { EgressError, type EgressReason } from '@gateway/egress/egress-error';
import { fetchUrl } from '@gateway/egress/fetch-url';
import { type EndlessAnswer, type HostileFiles, startHostileFiles } from '@gateway/testkit/attacks/hostile-files';
import { expect } from 'chai';

/** A file that is not recognised by then would be waited for until its time is over. */
const TIMEOUT_MS = 20_000;
const MAX_BYTES = 10 * 1024 * 1024;
const MAX_TURN_MS = 250;
const OK = 'HTTP/1.1 200 OK\r\n';

const REASONS: Record<EndlessAnswer, EgressReason | 'none'> = {
  'early hints': 'surroundings',
  'early hints with a link': 'surroundings',
  'informational answers of all kinds': 'surroundings',
  'header lines': 'surroundings',
  'header lines of one name': 'surroundings',
  'a folded header line': 'connection',
  'lines without a carriage return': 'connection',
  'a header value': 'connection',
  'a reason phrase': 'surroundings',
  'empty lines before the answer': 'surroundings',
  'an answer of 1991': 'connection',
  'chunk extensions': 'surroundings',
  'one chunk extension': 'surroundings',
  'zeros before the length of a chunk': 'surroundings',
  'chunks of a byte': 'tiny_pieces',
  trailers: 'surroundings',
  'answers that were not asked for': 'none',
};

describe('answers without end', () => {
  let hostile: HostileFiles;
  let server: Server;
  let answer: (socket: Socket) => void;
  before(async () => {
    hostile = await startHostileFiles();
    server = createServer((socket) => socket.on('error', () => {}).once('data', () => answer(socket.resume())));
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => {
    hostile.close();
    server.close();
  });

  const port = () => (server.address() as AddressInfo).port;
  const fetch = (url = `http://127.0.0.1:${port()}/`) =>
    fetchUrl(
      url,
      { ports: [hostile.port, port()], addresses: { allowed: parseNetworks('127.0.0.1/32') } },
      { maxBytes: MAX_BYTES, maxRedirects: 5, timeoutMs: TIMEOUT_MS, signal: new AbortController().signal },
    );
  const reasonOf = (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      (thrown: unknown) => (thrown instanceof EgressError ? thrown.reason : thrown),
    );

  for (const [what, reason] of Object.entries(REASONS) as [EndlessAnswer, EgressReason | 'none'][]) {
    it(`are given up soon: ${what}`, async () => {
      expect(await reasonOf(fetch(hostile.urlOf(what)))).to.equal(reason);
    });
  }

  it('hold up nothing else, though they be many', async () => {
    let longestMs = 0;
    let isOver = false;
    let used = process.cpuUsage();
    const watch = () => {
      const { user, system } = process.cpuUsage(used);
      used = process.cpuUsage();
      longestMs = Math.max(longestMs, (user + system) / 1_000);
      if (!isOver) setImmediate(watch);
    };
    setImmediate(watch);
    const kinds = ['header lines', 'trailers', 'early hints'] as const;
    await Promise.all(Array.from({ length: 60 }, (_, i) => reasonOf(fetch(hostile.urlOf(kinds[i % kinds.length]!)))));
    isOver = true;
    expect(longestMs, 'of processor time in a turn of the event loop').to.be.below(MAX_TURN_MS);
  });

  it('are no answers that have a little of all of it, and then a file', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n'.repeat(20);
    answer = (socket) => {
      socket.write(`${hints}${OK}Set-Cookie: ${'x'.repeat(15_000)}\r\nTransfer-Encoding: chunked\r\n\r\n`);
      socket.end(`${`400;name=value\r\n${'x'.repeat(1_024)}\r\n`.repeat(10_240)}0\r\nChecksum: 1\r\n\r\n`);
    };
    expect(await fetch()).to.have.length(MAX_BYTES);
  });

  it('are no answers that end with their connection, however much is in its last packets', async () => {
    for (const bytes of [0, 1, 8 * 1024, MAX_BYTES]) {
      answer = (socket) => socket.end(Buffer.concat([Buffer.from(`${OK}\r\n`), Buffer.alloc(bytes, 'x')]));
      expect(await fetch()).to.deep.equal(Buffer.alloc(bytes, 'x'));
    }
    answer = (socket) => socket.end(Buffer.concat([Buffer.from(`${OK}\r\n`), Buffer.alloc(100_000, 'x')]));
    // While others are read the end is there before the last bytes were.
    const files = await Promise.all(Array.from({ length: 50 }, () => fetch()));
    expect(files.map(({ length }) => length)).to.deep.equal(files.map(() => 100_000));
  });
});
