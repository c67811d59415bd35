import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { parseNetworks } from '@gateway/egress/address-rules';
import { EgressError } from '@gateway/egress/egress-error';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import { streamUrl } from '@gateway/egress/stream-url';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';

const local: FetchPolicy = { addresses: { allowed: parseNetworks('127.0.0.1/32') } };

describe('what is passed on from a URL as it comes', () => {
  let server: Server;
  let answer: RequestListener;
  let written = 0;

  before(async () => {
    server = createServer((request, response) => answer(request, response));
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

  const open = ({ policy = local, maxBytes = 1_000_000, timeoutMs = 5_000, wholeMs = 0 } = {}) =>
    streamUrl(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, policy, {
      ...{ maxBytes, timeoutMs, wholeMs: wholeMs || timeoutMs, signal: new AbortController().signal },
    });
  const reasonOf = (work: Promise<unknown>) =>
    work.then(
      () => 'nothing',
      (thrown: unknown) => (thrown instanceof EgressError ? thrown.reason : thrown),
    );

  it('is the body, or only the status', async () => {
    answer = (_, response) => response.end('hello');
    expect(String(await buffer((await open()).body!))).to.equal('hello');
    answer = (_, response) => response.writeHead(404).end('no');
    expect(await open()).to.deep.equal({ status: 404, body: undefined });
  });

  it('comes from no private address', async () => {
    expect(await reasonOf(open({ policy: { addresses: { allowed: [] } } }))).to.equal('address');
  });

  it('fails when it is too large, breaks off, or takes too long', async () => {
    answer = (_, response) => response.end(Buffer.alloc(2_000_000));
    expect(await reasonOf(open().then(({ body }) => buffer(body!)))).to.equal('too_large');
    answer = (_, response) =>
      void response.writeHead(200, { 'content-length': 9 }).write('x', () => response.destroy());
    expect(await reasonOf(open().then(({ body }) => buffer(body!)))).to.equal('connection');
    answer = (_, response) => void response.write('x');
    expect(await reasonOf(open({ timeoutMs: 300 }).then(({ body }) => buffer(body!)))).to.equal('too_slow');
  });

  it('may take longer than its head, and than each of its pauses', async () => {
    answer = async (_, response) => {
      for (let piece = 0; piece < 8; piece++) {
        response.write('x');
        const writtenMs = performance.now();
        await eventually(() => performance.now() > writtenMs + 100, { everyMs: 10 });
      }
      response.end();
    };
    const { body } = await open({ timeoutMs: 600, wholeMs: 60_000 });
    expect(String(await buffer(body!))).to.equal('x'.repeat(8));
  });

  it('waits at its source while it is not read', async () => {
    written = 0;
    const piece = Buffer.alloc(64 * 1024);
    answer = (_, response) => {
      const more = (): void => {
        written += piece.length;
        if (response.write(piece)) setImmediate(more);
        else response.once('drain', more);
      };
      more();
    };
    const { body } = await open({ maxBytes: 1e12 });
    let before = -1;
    await eventually(
      () => {
        const isStill = written === before;
        before = written;
        return isStill;
      },
      { everyMs: 100 },
    );
    expect(written).to.be.below(30 * 1024 * 1024);
    body!.destroy();
    await eventually(() => !body!.readable);
  });
});
