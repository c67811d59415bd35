import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { parseNetworks } from '@gateway/egress/address-rules';
import { EgressError } from '@gateway/egress/egress-error';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import { postUrl } from '@gateway/egress/post-url';
import { makeTlsIdentity } from '@gateway/simulator/http/self-signed';
import { expect } from 'chai';
import { inTurn, type NameServer, startNameServer } from './support/name-server.js';

const BODY = Buffer.from('{"n":1}');
const GZIP_BOMB = Buffer.alloc(64 * 1024, 0xaa);
const never = new AbortController().signal;

describe('what is posted to a URL of a stranger', () => {
  let server: Server;
  let answer: (socket: Socket, request: string) => void;
  const sockets = new Set<Socket>();
  let connections = 0;

  before(async () => {
    server = createServer((socket) => {
      connections++;
      sockets.add(socket);
      socket.on('error', () => {}).once('close', () => sockets.delete(socket));
      let request = '';
      socket.on('data', (piece) => {
        const isWhole = request.includes(BODY.toString());
        request += piece;
        if (!isWhole && request.includes(BODY.toString())) answer(socket, request);
      });
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  beforeEach(() => {
    connections = 0;
  });
  after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  const port = () => (server.address() as AddressInfo).port;
  const local: FetchPolicy = { isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } };
  const open: FetchPolicy = { isSecure: true, addresses: { allowed: [] } };
  const post = (url = `http://127.0.0.1:${port()}/hook?key=1`, { policy = local, timeoutMs = 5_000 } = {}) =>
    postUrl(url, policy, { body: BODY, headers: { 'content-type': 'application/json' }, timeoutMs, signal: never });
  const reasonOf = (work: Promise<unknown>) =>
    work.then(
      (result) => result,
      (thrown: unknown) => (thrown instanceof EgressError ? thrown.reason : thrown),
    );

  it('asks for a server by its name without the dot at its end', async () => {
    const asked: (string | false | null)[] = [];
    const secure = createTlsServer(await makeTlsIdentity('localhost'), (socket) => {
      asked.push(socket.servername);
      socket.on('error', () => {}).once('data', () => socket.end('HTTP/1.1 204 None\r\nConnection: close\r\n\r\n'));
    });
    await once(secure.listen(0, '127.0.0.1'), 'listening');
    const policy: FetchPolicy = {
      anyCertificate: true,
      addresses: { allowed: parseNetworks('127.0.0.1/32,::1/128') },
    };
    const to = (name: string) => post(`https://${name}:${(secure.address() as AddressInfo).port}/`, { policy });
    try {
      for (const name of ['localhost', 'localhost.']) expect(await to(name)).to.have.property('status', 204);
    } finally {
      secure.close();
    }
    expect(asked).to.deep.equal(['localhost', 'localhost']);
  });

  it('comes as it is, and the answer is its status with the first bytes of its body', async () => {
    let received = '';
    answer = (socket, request) => {
      received = request;
      socket.end(`HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 300\r\n\r\n${'x'.repeat(300)}`);
    };
    const { status, retryAfter, excerpt } = await post();
    expect({ status, retryAfter, excerpt: excerpt.toString() }).to.deep.equal({
      ...{ status: 429, retryAfter: '7' },
      excerpt: 'x'.repeat(256),
    });
    expect(received).to.match(/^POST \/hook\?key=1 HTTP\/1\.1\r\n/);
    expect(received).to.match(/accept-encoding: identity\r\n/i);
    expect(received.endsWith(`\r\n\r\n${BODY}`)).to.equal(true);
  });

  it('goes nowhere else: a redirect is an answer', async () => {
    answer = (socket) => socket.end('HTTP/1.1 307 x\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n');
    expect((await post()).status).to.equal(307);
  });

  it('costs 4 kB of an answer without end, however it is packed', async () => {
    let written = 0;
    answer = (socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1073741824\r\n\r\n');
      const goOn = () => {
        while (!socket.destroyed && written < 2 ** 30) {
          written += GZIP_BOMB.length;
          if (!socket.write(GZIP_BOMB)) return void socket.once('drain', goOn);
        }
      };
      goOn();
    };
    expect(await post()).to.deep.equal({ status: 200, retryAfter: undefined, excerpt: GZIP_BOMB.subarray(0, 256) });
    expect(written).to.be.below(64 * 1024 * 1024);
  });

  it('waits for a head as long as it may, and hardly for a body', async () => {
    answer = (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx');
    expect(await post()).to.deep.include({ status: 200, excerpt: Buffer.from('x') });
    answer = (socket) => void socket.write('HTTP/1.1 200 OK\r\nX: ');
    expect(await reasonOf(post(undefined, { timeoutMs: 100 }))).to.equal('too_slow');
    answer = () => {};
    expect(await reasonOf(post(undefined, { timeoutMs: 100 }))).to.equal('too_slow');
    answer = (socket) => socket.resetAndDestroy();
    expect(await reasonOf(post())).to.equal('connection');
  });

  it('has the bounds of a file for what is around an answer', async () => {
    answer = (socket) => {
      const goOn = () => {
        if (!socket.destroyed) socket.write('HTTP/1.1 103 Early\r\n\r\n'.repeat(1_000), goOn);
      };
      goOn();
    };
    expect(await reasonOf(post())).to.equal('surroundings');
  });

  it('needs TLS that can be trusted, unless the network is allowed', async () => {
    answer = (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    const secured = createTlsServer(await makeTlsIdentity('127.0.0.1')).on('tlsClientError', () => {});
    await once(secured.listen(0, '127.0.0.1'), 'listening');
    const url = `https://127.0.0.1:${(secured.address() as AddressInfo).port}/`;
    expect(await reasonOf(post(url))).to.equal('connection');
    secured.close();
    expect(await reasonOf(post('http://1.1.1.1/'))).to.equal('scheme');
    expect(await reasonOf(post('ftp://1.1.1.1/'))).to.equal('scheme');
    expect(await reasonOf(post('https://user:secret@1.1.1.1/'))).to.equal('scheme');
  });

  it('connects to the very address that was checked, whatever a name says the second time', async () => {
    const names = await startNameServer({ 're-bind.test': { a: inTurn('127.0.0.1', '127.0.0.2') } });
    let isLed = false;
    const inside = createServer((socket) => {
      isLed = true;
      socket.destroy();
    });
    await once(inside.listen(port(), '127.0.0.2'), 'listening');
    answer = (socket) => socket.end('HTTP/1.1 204 x\r\n\r\n');
    const policy = { ...local, names: { servers: [names.server] } };
    const url = `http://re-bind.test:${port()}/`;
    try {
      expect((await post(url, { policy })).status, 'checked, and connected').to.equal(204);
      expect(await reasonOf(post(url, { policy })), 'another one, checked as well').to.equal('address');
      expect(isLed, 'a connection inside').to.equal(false);
    } finally {
      inside.close();
      await names.close();
    }
  });

  it('opens no private connection, whatever leads there', async () => {
    const names: NameServer = await startNameServer({ 're-bind.test': { a: ['127.0.0.1'] } });
    try {
      const policy = { ...open, names: { servers: [names.server] } };
      expect(await reasonOf(post('http://re-bind.test/', { policy })), 'by http to nowhere').to.equal('scheme');
      expect(names.asked, 'nothing is asked of its name').to.deep.equal([]);
      policy.addresses = { allowed: parseNetworks('192.0.2.0/24') };
      for (const host of ['127.0.0.1', '[::1]', '169.254.169.254', 're-bind.test', 'localhost']) {
        for (const scheme of ['http', 'https']) {
          const reason = await reasonOf(post(`${scheme}://${host}:${port()}/`, { policy }));
          expect(reason, `${scheme}://${host}`).to.equal('address');
        }
      }
      expect(connections).to.equal(0);
      expect(names.asked.filter((each) => each.startsWith('re-bind.test'))).to.have.length(4);
    } finally {
      await names.close();
    }
  });
});
