import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { parseNetworks } from '@gateway/egress/address-rules';
import type { FetchPolicy } from '@gateway/egress/fetch-policy';
import { postWebhook } from '@gateway/egress/post-webhook';
import { systemClock } from '@gateway/runtime/clock';
import { expect } from 'chai';
import { type NameServer, startNameServer } from './support/name-server.js';

describe('why a webhook was not posted', () => {
  let names: NameServer;
  before(async () => {
    names = await startNameServer({
      ...{ 'redis.cluster.test': { a: ['10.0.0.1'] }, 'six.cluster.test': { aaaa: ['fd00:0:0:0:0:0:0:1'] } },
      ...{ 'denied.test': { a: ['203.0.114.9'] } },
    });
  });
  after(() => names.close());

  async function whyNot(url: string): Promise<string | null> {
    const policy: FetchPolicy = {
      isSecure: true,
      addresses: { allowed: parseNetworks('192.0.2.0/24'), denied: parseNetworks('203.0.114.0/24') },
      names: { servers: [names.server] },
    };
    const request = { target: { url, headers: {} }, secrets: [], id: 'evt_1', body: Buffer.from('{}') };
    const signal = new AbortController().signal;
    return (await postWebhook(request, { policy, clock: systemClock, signal })).attempt.error;
  }

  it('does not tell which names lead into a network inside, and which nowhere', async () => {
    for (const name of ['redis.cluster.test', 'six.cluster.test', 'denied.test', 'nothing.cluster.test', 'localhost'])
      for (const scheme of ['https', 'http']) expect(await whyNot(`${scheme}://${name}/`), name).to.equal('name');
  });

  it('does tell of an address, which its owner wrote', async () => {
    for (const address of ['10.0.0.1', '[fd00::1]', '203.0.114.9', '127.0.0.1'])
      expect(await whyNot(`https://${address}/`), address).to.equal('not_allowed');
  });
});

describe('how long an endpoint asks to be left alone (Retry-After)', () => {
  const SECOND_MS = 1_000;
  let server: Server;
  let asked: readonly string[];
  before(async () => {
    server = createServer((socket) => {
      const head = ['HTTP/1.1 503 Slow', ...asked.map((value) => `Retry-After: ${value}`), 'Connection: close'];
      socket.on('error', () => {}).once('data', () => socket.end(`${head.join('\r\n')}\r\n\r\n`));
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  after(() => void server.close());

  async function waitFor(...values: string[]): Promise<number | undefined> {
    asked = values;
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const request = { target: { url, headers: {} }, secrets: [], id: 'evt_1', body: Buffer.from('{}') };
    const policy: FetchPolicy = { isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } };
    const clock = { ...systemClock, nowMs: () => Date.parse('2026-11-21T19:00:00Z') };
    return (await postWebhook(request, { policy, clock, signal: new AbortController().signal })).retryAfterMs;
  }

  it('is given in seconds or as a date', async () => {
    expect(await waitFor()).to.equal(undefined);
    expect(await waitFor('30')).to.equal(30 * SECOND_MS);
    expect(await waitFor('Sat, 21 Nov 2026 19:02:00 GMT')).to.equal(120 * SECOND_MS);
    expect(await waitFor('Sat, 21 Nov 2026 18:00:00 GMT')).to.equal(0);
    expect(await waitFor('soon')).to.equal(undefined);
  });

  it('counts however many digits it has', async () => {
    for (const digits of [10, 40, 400]) expect(await waitFor('9'.repeat(digits)), `${digits}`).to.be.above(3_600_000);
  });

  it('is the longest where it is given several times', async () => {
    expect(await waitFor('30', '600')).to.equal(600 * SECOND_MS);
    expect(await waitFor('600', 'Sat, 21 Nov 2026 19:02:00 GMT')).to.equal(600 * SECOND_MS);
    expect(await waitFor('soon', '30')).to.equal(30 * SECOND_MS);
  });
});
