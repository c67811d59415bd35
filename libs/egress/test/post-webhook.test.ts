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
      addresses: { allowed: [], denied: parseNetworks('203.0.114.0/24') },
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
