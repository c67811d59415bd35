import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { parseNetworks } from '@gateway/egress/address-rules';
import { type Keeper, KeptConnections, type KeptLimits } from '@gateway/egress/connections/kept-connections';
import { EgressError } from '@gateway/egress/egress-error';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import { postUrl } from '@gateway/egress/post-url';
import { makeTlsIdentity } from '@gateway/simulator/http/self-signed';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { startNameServer } from './support/name-server.js';

const BODY = Buffer.from('{"n":1}');
const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';
const KEEPER: Keeper = { name: 'main/a', revision: '1', most: 2 };
const local: FetchPolicy = {
  ...{ isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
  anyCertificate: true,
};

/** When the kernel next asks whether the connection to a port is there still; nothing while it waits for something else. */
function msUntilAsked(port: number): number | undefined {
  const remote = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = readFileSync('/proc/self/net/tcp', 'utf8').split('\n').slice(1);
  for (const line of lines) {
    const [, , to, state, , timer = ''] = line.trim().split(/\s+/);
    // Established; by keep-alive; in ticks of 10 ms.
    if (to?.endsWith(remote) && state === '01' && timer.startsWith('02:'))
      return Number.parseInt(timer.slice(3), 16) * 10;
  }
  return undefined;
}

for (const scheme of ['http', 'https'] as const) {
  describe(`connections that wait for the next request by ${scheme}`, () => {
    let server: Server;
    /** By connection: how many requests came on it. */
    let requests: number[];
    let answer: (socket: Socket, place: { connection: number; request: number }) => void;
    let kept: KeptConnections;
    let nowMs: number;
    const sockets = new Set<Socket>();

    before(async () => {
      const take = (socket: Socket) => {
        const connection = requests.push(0) - 1;
        sockets.add(socket);
        socket.on('error', () => {}).once('close', () => sockets.delete(socket));
        let text = '';
        socket.on('data', (piece) => {
          text += piece;
          if (!text.endsWith(`\r\n\r\n${BODY}`)) return;
          text = '';
          answer(socket, { connection, request: requests[connection]!++ });
        });
      };
      server = scheme === 'http' ? createServer(take) : createTlsServer(await makeTlsIdentity('127.0.0.1'), take);
      await once(server.listen(0, '127.0.0.1'), 'listening');
    });
    const open = (limits?: KeptLimits) => {
      kept = new KeptConnections(limits, { nowMs: () => nowMs, monotonicMs: () => nowMs });
    };
    beforeEach(() => {
      requests = [];
      nowMs = 0;
      answer = (socket) => void socket.write(OK);
      open();
    });
    afterEach(async () => {
      await kept.close();
      await eventually(() => sockets.size === 0);
    });
    after(() => server.close());

    const port = () => (server.address() as AddressInfo).port;
    const post = (keeper = KEEPER, { host = '127.0.0.1', policy = local, timeoutMs = 5_000 } = {}) =>
      postUrl(`${scheme}://${host}:${port()}/hook`, policy, {
        ...{ body: BODY, headers: {}, timeoutMs, signal: new AbortController().signal },
        keep: { connections: kept, keeper },
      });
    const reasonOf = (work: Promise<unknown>) =>
      work.then(
        () => undefined,
        (thrown: unknown) => (thrown instanceof EgressError ? thrown.reason : thrown),
      );

    it('are used for one request after the other, and end when nothing is kept any more', async () => {
      for (let n = 0; n < 3; n++) expect((await post()).status).to.equal(200);
      expect(requests).to.deep.equal([3]);
      await kept.close();
      await eventually(() => sockets.size === 0);
      await post();
      await eventually(() => sockets.size === 0);
    });

    it('are asked soon whether they are there still: the network may drop them in silence', async function () {
      if (process.platform !== 'linux') return this.skip();
      await post();
      expect(await eventually(() => msUntilAsked(port()))).to.be.at.most(5_000);
    });

    it('are for the same keeper as it is, the same server and the same policy only', async () => {
      const names = await startNameServer({ 'other.test': { a: ['127.0.0.1'] } });
      const asks = { ...local, names: { servers: [names.server] } };
      await post();
      await post({ ...KEEPER, name: 'main/b' });
      await post({ ...KEEPER, revision: '2' });
      await post(KEEPER, { policy: asks });
      await post(KEEPER, { policy: asks, host: 'other.test' });
      await names.close();
      expect(requests).to.deep.equal([1, 1, 1, 1, 1]);
    });

    it('are no more than a keeper has at a time, and than all have together', async () => {
      open({ most: 3 });
      let waiting: Socket[] = [];
      answer = (socket) => {
        waiting.push(socket);
        if (waiting.length < 5) return;
        for (const each of waiting) each.write(OK);
        waiting = [];
      };
      await Promise.all(Array.from({ length: 5 }, () => post()));
      await eventually(() => sockets.size === 2);
      answer = (socket) => void socket.write(OK);
      await post({ ...KEEPER, name: 'main/b' });
      await post({ ...KEEPER, name: 'main/c' });
      await eventually(() => sockets.size === 3);
      await post({ ...KEEPER, name: 'main/c' });
      expect(requests).to.have.length(7);
    });

    it('of one keeper do not take the places of another one, however many it has', async () => {
      open({ most: 3 });
      const few = { ...KEEPER, name: 'main/few' };
      const many = { ...KEEPER, name: 'main/many', most: 20 };
      await post(few);
      let waiting: Socket[] = [];
      answer = (socket) => {
        waiting.push(socket);
        if (waiting.length < 5) return;
        for (const each of waiting) each.write(OK);
        waiting = [];
      };
      await Promise.all(Array.from({ length: 5 }, () => post(many)));
      await eventually(() => sockets.size === 3);
      answer = (socket) => void socket.write(OK);
      await post(few);
      expect(requests[0]).to.equal(2);
      expect(requests).to.have.length(6);
    });

    it('end when they are not used, when they are old, and when their keeper changes or goes', async () => {
      open({ idleMs: 50 });
      await post();
      await eventually(() => sockets.size === 0);
      open();
      await post();
      nowMs += 3 * 60_000 + 1;
      await post();
      expect(requests).to.deep.equal([1, 1, 1]);
      await post({ ...KEEPER, revision: '2' });
      await post({ ...KEEPER, name: 'main/b' });
      kept.end('main/a', '2');
      kept.endAllBut(new Set(['main/a']));
      await eventually(() => sockets.size === 1);
      await post({ ...KEEPER, revision: '2' });
      expect(requests).to.have.length(5);
      kept.end('main/a');
      await eventually(() => sockets.size === 0);
    });

    it('end when their server ends them while they are not used', async () => {
      answer = (socket) => void socket.end(OK);
      for (let n = 0; n < 3; n++) expect((await post()).status).to.equal(200);
      answer = (socket) => void socket.write('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n');
      for (let n = 0; n < 3; n++) expect((await post()).status).to.equal(200);
      expect(requests).to.deep.equal([1, 1, 1, 1, 1, 1]);
    });

    it('that their server had ended fail no request: the same is posted once more, on a new one', async () => {
      answer = (socket, { request }) => {
        if (request === 0) socket.write(OK);
        else if (scheme === 'http') socket.resetAndDestroy();
        else socket.destroy();
      };
      await post();
      expect((await post()).status).to.equal(200);
      expect(requests).to.deep.equal([2, 1]);
      answer = (socket) => void socket.destroy();
      expect(await reasonOf(post())).to.equal('connection');
      expect(requests, 'and not a third time').to.deep.equal([2, 2, 1]);
    });

    it('that all end at once are tried anew with one request, and the others follow once that had an answer', async () => {
      open({ failedMs: 200 });
      const many: Keeper = { ...KEEPER, most: 8 };
      const all = () => Promise.allSettled(Array.from({ length: 8 }, () => post(many)));
      const seen = () => requests.reduce((sum, count) => sum + count, 0);
      await all();
      expect(requests).to.have.length(8);
      answer = (socket) => socket.destroy();
      const failed = await all();
      expect(failed.map(({ status }) => status)).to.deep.equal(Array(8).fill('rejected'));
      expect(seen(), 'eight on each of two, and one more').to.equal(8 + 8 + 1);
      answer = (socket) => void socket.write(OK);
      await eventually(async () => (await Promise.all([post(many), post(many)])) && true);
      await all();
      // Of those that are there each ends once; they are tried anew later than the others failed.
      const there = requests.length;
      answer = (socket, { connection }) => (connection < there ? void socket.destroy() : void socket.write(OK));
      await eventually(async () => (await all()).every(({ status }) => status === 'fulfilled'));
      expect(requests.length).to.be.within(there + 8, there + 16);
    });

    it('that all end at once leave each of the others as much time for its answer as any request has', async () => {
      const two: Keeper = { ...KEEPER, most: 2 };
      const both = () => Promise.all([post(two, { timeoutMs: 1_500 }), post(two, { timeoutMs: 1_500 })]);
      await both();
      const there = requests.length;
      const takes = (socket: Socket) => void setTimeout(() => socket.write(OK), 900);
      answer = (socket, { connection }) => (connection < there ? void socket.destroy() : takes(socket));
      expect((await both()).map(({ status }) => status)).to.deep.equal([200, 200]);
    });

    it('fail a request of which a part of the answer has come, or whose time is over', async () => {
      await post();
      answer = (socket) => socket.write('HTTP/1.1 20', () => socket.destroy());
      expect(await reasonOf(post())).to.equal('connection');
      expect(requests).to.deep.equal([2]);
      answer = (socket) => void socket.write(OK);
      await post();
      answer = () => {};
      expect(await reasonOf(post(KEEPER, { timeoutMs: 100 }))).to.equal('too_slow');
      expect(requests).to.deep.equal([2, 2]);
    });

    it('end after anything but a plain success', async () => {
      const answers = [
        'HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n',
        'HTTP/1.1 307 x\r\nLocation: /\r\nContent-Length: 0\r\n\r\n',
        'HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok',
        `HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n${'x'.repeat(5_000)}`,
        'HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nx',
      ];
      for (const each of answers) {
        answer = (socket) => void socket.write(each);
        await post();
        await eventually(() => sockets.size === 0);
      }
      expect(requests).to.deep.equal([1, 1, 1, 1, 1]);
    });

    it('end where something comes that was not asked for', async () => {
      answer = (socket) => void socket.write(`${OK}HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n`);
      await post();
      await eventually(() => sockets.size === 0);
      answer = (socket) => void socket.write(OK);
      await post();
      for (const socket of sockets) socket.write('HTTP/1.1 103 Early\r\n\r\n'.repeat(10_000));
      await eventually(() => sockets.size === 0);
    });

    it('end where a body is announced that an answer of its kind has not: it is no part of the next answer', async () => {
      for (const header of ['Content-Length: 5', 'Transfer-Encoding: chunked']) {
        answer = (socket) => {
          socket.write(`HTTP/1.1 204 No Content\r\n${header}\r\n\r\n`);
          setImmediate(() => socket.write('hello'));
        };
        for (let n = 0; n < 3; n++) expect((await post()).status).to.equal(204);
      }
      expect(requests).to.deep.equal([1, 1, 1, 1, 1, 1]);
    });

    it('have the bounds of one answer for what is around each of them', async () => {
      const around = `X: ${'y'.repeat(12_000)}`;
      answer = (socket) => void socket.write(`HTTP/1.1 200 OK\r\n${around}\r\nContent-Length: 0\r\n\r\n`);
      for (let n = 0; n < 20; n++) expect((await post()).status).to.equal(200);
      expect(requests).to.deep.equal([20]);
      answer = (socket) => void socket.write('HTTP/1.1 103 Early\r\n\r\n'.repeat(10_000));
      expect(await reasonOf(post())).to.equal('surroundings');
    });

    it('lead to an address that was checked: a new one is asked for anew', async () => {
      const zone = { 're-bind.test': { a: ['127.0.0.1'] } };
      const names = await startNameServer(zone);
      const policy = { ...local, names: { servers: [names.server] } };
      const there = { policy, host: 're-bind.test' };
      try {
        for (let n = 0; n < 3; n++) await post(KEEPER, there);
        zone['re-bind.test'].a = ['169.254.169.254'];
        await post(KEEPER, there);
        kept.end(KEEPER.name);
        expect(await reasonOf(post(KEEPER, there))).to.equal('address');
        expect(requests).to.deep.equal([4]);
      } finally {
        await names.close();
      }
    });
  });
}
