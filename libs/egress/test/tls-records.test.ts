import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import { parseNetworks } from '@gateway/egress/address-rules';
import type { EgressError } from '@gateway/egress/egress-error';
import { fetchUrl } from '@gateway/egress/fetch-url';
import { makeTlsIdentity } from '@gateway/simulator/http/self-signed';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

// biome-ignore lint/style/noProcessEnv: Node reads there, at each connection, whether certificates are checked.
const ENVIRONMENT = process.env;
const FETCHES = 8;
const RECORDS = 6_000;
const MAX_TURN_MS = 75;
const MAX_BYTES = 10 * 1024 * 1024;

describe('files by https', () => {
  let server: Server;
  /** `hold` keeps what the server writes from then on, until its result is called: that sends it, and ends. */
  let answer: (secured: TLSSocket, hold: () => () => void) => void;

  before(async () => {
    const identity = await makeTlsIdentity('127.0.0.1');
    server = createServer((raw) => {
      let held: Buffer[] | undefined;
      const transport = new Duplex({
        read() {},
        write(piece: Buffer, _encoding, done) {
          if (held) held.push(piece);
          else raw.write(piece);
          done();
        },
      });
      raw.on('data', (piece) => transport.push(piece)).on('error', () => {});
      raw.on('close', () => transport.destroy());
      const secured = new TLSSocket(transport as Socket, { isServer: true, ...identity });
      const hold = () => {
        const pieces: Buffer[] = [];
        held = pieces;
        return () => void raw.end(Buffer.concat(pieces));
      };
      secured.on('error', () => {}).once('data', () => answer(secured, hold));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => server.close());
  beforeEach(() => {
    ENVIRONMENT.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  });
  afterEach(() => {
    delete ENVIRONMENT.NODE_TLS_REJECT_UNAUTHORIZED;
  });

  const fetch = () => {
    const { port } = server.address() as AddressInfo;
    const policy = { ports: [port], addresses: { allowed: parseNetworks('127.0.0.1/32') } };
    const limits = { maxBytes: MAX_BYTES, maxRedirects: 0, timeoutMs: 20_000, signal: new AbortController().signal };
    return fetchUrl(`https://127.0.0.1:${port}/`, policy, limits);
  };
  const reasonOf = (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      ({ reason }: EgressError) => reason,
    );

  it('come whole, from servers whose certificate is trusted', async () => {
    const file = Buffer.alloc(MAX_BYTES, 'file');
    answer = (secured) => {
      secured.write(`HTTP/1.1 200 OK\r\nContent-Length: ${file.length}\r\n\r\n`);
      secured.write(file);
    };
    expect((await fetch()).equals(file)).to.equal(true);
    ENVIRONMENT.NODE_TLS_REJECT_UNAUTHORIZED = '1';
    expect(await reasonOf(fetch())).to.equal('connection');
  });

  it('hold up nothing else, though they come in records of a byte', async () => {
    const releases: (() => void)[] = [];
    answer = async (secured, hold) => {
      secured.write(`HTTP/1.1 200 OK\r\nContent-Length: ${MAX_BYTES}\r\n\r\n${'x'.repeat(200_000)}`);
      const release = hold();
      for (let i = 0; i < RECORDS; i++) await new Promise((done) => secured.write('x', done));
      releases.push(release);
    };
    const fetches = Array.from({ length: FETCHES }, () => reasonOf(fetch()));
    await eventually(() => expect(releases).to.have.length(FETCHES));
    let longestMs = 0;
    let isOver = false;
    let used = process.cpuUsage();
    for (const release of releases) release();
    const watch = () => {
      const { user, system } = process.cpuUsage(used);
      used = process.cpuUsage();
      longestMs = Math.max(longestMs, (user + system) / 1_000);
      if (!isOver) setImmediate(watch);
    };
    setImmediate(watch);
    expect(new Set(await Promise.all(fetches))).to.deep.equal(new Set(['connection']));
    isOver = true;
    expect(longestMs, 'of processor time in a turn of the event loop').to.be.below(MAX_TURN_MS);
  });
});
