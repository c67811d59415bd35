import { makeMediaId } from '@gateway/contracts/content/media-id';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { parseNetworks } from '@gateway/egress/address-rules';
import { ensureDevice } from '@gateway/store/devices/devices';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { expect } from 'chai';
import { exchange } from './support/raw-request.js';
import { BASE } from './support/test-api.js';
import { useTestApi } from './support/use-test-api.js';

const LONG = 'x'.repeat(10_000);

describe('callers who mean harm', () => {
  const { space, api } = useTestApi({
    ...{ once: true, linked: true },
    webhookPolicy: { isSecure: true, addresses: { allowed: parseNetworks('127.0.0.1/32') } },
  });
  let token: string;
  /** Another one for every ten calls: how often one may ask is another matter. */
  let calls = 0;
  const newToken = async () => {
    if (calls++ % 10 === 0) token = (await api.newToken({ scopes: ['events', 'webhooks'] })).value;
    return token;
  };
  beforeEach(async () => {
    calls = 0;
    await newToken();
  });
  async function refused(method: string, path: string, json?: unknown, headers: Record<string, string> = {}) {
    const answer = await api.call(method, path, {
      token: await newToken(),
      headers,
      ...(json !== undefined && { json }),
    });
    const what = `${method} ${path.slice(0, 80)} ${JSON.stringify(json)?.slice(0, 120)} ${JSON.stringify(headers)}`;
    expect(answer.status, what).to.be.within(400, 431);
    expect(JSON.stringify(answer.body).length, what).to.be.below(12_000);
    return answer.status;
  }

  it('make no webhook that leads inside, however its address is written', async () => {
    const inside = [
      ...[
        'http://2130706434/',
        'http://0x7f000002/',
        'http://0177.0.0.2/',
        'http://127.2/',
        'http://[::ffff:127.0.0.2]/',
      ],
      ...['https://[::1]/', 'https://[fe80::1]/', 'https://0.0.0.0/', 'https://[::]/', 'https://10.1.2.3./'],
      ...['https://[64:ff9b::a9fe:a9fe]/', 'https://169.254.169.254:443/latest', 'https://①⑥⑨.254.169.254/'],
      ...['https://user@example.com/', 'https://example.com/#x', 'https:///', 'https://'],
      ...['file:///etc/passwd', 'javascript:alert(1)', 'data:text/plain,x', 'gopher://127.0.0.1:6379/_FLUSHALL'],
      ...[
        'https://example.com:99999/',
        'https://exa mple.com/',
        `https://example.com/${LONG}`,
        '',
        ' ',
        null,
        1,
        {},
        [],
      ],
      ...[
        'https://example.com\u0000.evil.test/',
        'https://%00/',
        '//example.com/',
        'https://127.0.0.2%2f@example.com/',
        'https://[fe80::1%25eth0]/',
        'https://[fe80::1%eth0]/',
        'https://xn--a/',
      ],
      ...[
        // The parser drops these, and goes on with another URL than was written.
        'https://example.com/\n',
        ' https://example.com/',
        'https://exa\tmple.com/',
        'https://example.com/a b',
      ],
    ];
    for (const url of inside) expect(await refused('POST', '/webhooks', { url })).to.equal(400);
  });

  it('set no header that changes how a request is read, and none that is no header', async () => {
    const url = 'http://127.0.0.1/';
    const names = [
      ...[
        'Host',
        'hOsT',
        'Content-Length',
        'Content-Type',
        'Transfer-Encoding',
        'Connection',
        'Upgrade',
        'Expect',
        'TE',
      ],
      ...['Trailer', 'Keep-Alive', 'Proxy-Authorization', 'Webhook-Signature', 'webhook-timestamp', 'Accept-Encoding'],
      ...['', ' ', 'X A', 'X:A', 'X\r\nY', 'X\u0000', 'é', LONG, '__proto__', 'constructor\n'],
    ];
    for (const name of names) {
      const headers = JSON.parse(`{${JSON.stringify(name)}:"1"}`);
      expect(await refused('POST', '/webhooks', { url, headers })).to.equal(400);
    }
    for (const value of ['a\r\nHost: b', 'a\nb', 'a\u0000b', 'é', LONG, null, 1, ['a'], { a: 1 }]) {
      expect(await refused('POST', '/webhooks', { url, headers: { 'X-A': value } })).to.equal(400);
    }
    const eleven = Object.fromEntries(Array.from({ length: 11 }, (_, n) => [`X-${n}`, '1']));
    for (const headers of [eleven, [], 'x', { 'X-A': '1', 'x-a': '2' }])
      expect(await refused('POST', '/webhooks', { url, headers })).to.equal(400);
  });

  it('ask for nothing that there is not, and nothing at length', async () => {
    const url = 'http://127.0.0.1/';
    const bodies = [
      ...[{ types: Array(3_000).fill('message.sent') }, { types: Array.from({ length: 3_000 }, (_, n) => `t${n}`) }],
      ...[{ types: ['webhook.test'] }, { types: [] }, { types: ['*'] }, { types: 'message.sent' }],
      ...[
        { devices: ['../other'] },
        { devices: [`${'d'.repeat(300)}`] },
        { devices: Array(101).fill('main') },
        { devices: [] },
      ],
      ...[{ gatherSeconds: 1e9 }, { gatherSeconds: -1 }, { gatherSeconds: 1.5 }, { content: 'all' }, { numbers: null }],
      ...[
        { signature: 'v2' },
        { secret: 'whsec_x' },
        { status: 'active' },
        { description: LONG },
        { workspace: 'other' },
      ],
    ];
    for (const body of bodies) expect(await refused('POST', '/webhooks', { url, ...body })).to.equal(400);
    expect(await refused('POST', '/webhooks', { url, types: Array(10_000).fill('message.sent') })).to.equal(413);
    for (const query of [
      'limit=1e9',
      'limit=-1',
      'limit=0x10',
      'limit=1&limit=2',
      'wait=1e9',
      'wait=NaN',
      'x=1',
      'after[]=0',
    ]) {
      expect(await refused('GET', `/events?${query}`)).to.equal(400);
    }
    expect(await refused('GET', `/events?types=${'message.sent,'.repeat(1_000)}`)).to.equal(400);
  });

  it('make up no cursor and no id', async () => {
    const cursors = [
      ...['-1', '1', '1-', '-', '+', '$', '(0-0', '0-0-0', '1-1.-1', '1-1.999999', '1-1.1.1', '9'.repeat(16), '٣-٣'],
      ...[
        `${'9'.repeat(16)}-0`,
        `0-${'9'.repeat(11)}`,
        '0x1-0',
        '1e3-0',
        ' 0',
        '0-0 ',
        '../0-0',
        '%00',
        LONG.slice(0, 4_000),
      ],
    ];
    for (const cursor of cursors) {
      expect(await refused('GET', `/events?after=${encodeURIComponent(cursor)}`)).to.equal(400);
      if (/^[\x21-\x7e]+$/.test(cursor))
        expect(await refused('GET', '/events/stream', undefined, { 'last-event-id': cursor })).to.equal(400);
    }
    // What could be one: of the far future, and within an entry that is not there.
    for (const cursor of [`${'9'.repeat(15)}-${'9'.repeat(10)}.99999`, '0-0.99999', '0-1', '0']) {
      const { status } = await api.call('GET', `/events?after=${cursor}`, { token: await newToken() });
      expect(status, cursor).to.be.oneOf([200, 410]);
    }
    const ids = ['..', '..%2f..%2fwebhooks', '%00', '*', 'wh_*', 'x'.repeat(3_000), '%E0%A4%A', 'wh_x%0d%0a'];
    for (const id of ids) {
      for (const path of [
        `/webhooks/${id}`,
        `/webhooks/${id}/deliveries`,
        `/events/${id}`,
        `/media/${id}`,
        `/media/med_${id}`,
      ]) {
        await refused('GET', path);
      }
      const { status, body } = await api.call('DELETE', `/webhooks/${id}`, { token: await newToken() });
      if (status === 200) expect(body.deleted, id).to.equal(false);
      else expect(status, id).to.be.within(400, 431);
      await refused('POST', `/webhooks/${id}/test`);
      await refused('PATCH', `/webhooks/${id}`, { description: 'x' });
    }
    const [raw] = await exchange(api.port, [
      `GET ${BASE}/media/../webhooks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    ]);
    expect(raw!.status).to.equal(404);
  });

  it('learn nothing of what others have', async () => {
    const { body } = await api.call('POST', '/webhooks', { token, json: { url: 'http://127.0.0.1/' } });
    const path = `/webhooks/${body.webhookId}`;
    const foreign = (await createApiToken(space.store, 'other', { name: 'test', scopes: ['events', 'webhooks'] }))
      .value;
    const unknown = '/webhooks/wh_0123456789abcdef';
    for (const [method, end, json] of [
      ...[
        ['GET', ''],
        ['GET', '/deliveries'],
        ['POST', '/test'],
        ['POST', '/pause'],
        ['POST', '/resume'],
      ],
      ...[
        ['PATCH', '', { description: 'x' }],
        ['POST', '/rotate', {}],
      ],
    ] as [string, string, object?][]) {
      const [theirs, none] = await Promise.all(
        [path, unknown].map((at) => api.call(method, at + end, { token: foreign, ...(json && { json }) })),
      );
      expect([theirs!.status, theirs!.body.error], `${method} ${end}`).to.deep.equal([404, none!.body.error]);
    }
    await api.call('DELETE', path, { token: foreign });
    expect((await api.call('GET', path, { token })).status).to.equal(200);
    await space.store.redis.zadd(
      workspaceKeys(space.store.space, 'main').webhookParkedDue(String(body.webhookId)),
      1,
      'k',
    );
    for (const end of [':due', ':times', ':since']) {
      expect((await api.call('DELETE', path + end, { token })).body.deleted).to.equal(false);
    }
    expect((await api.call('GET', path, { token })).status).to.equal(200);
    const [parked] = await space.store.redis.keys(`${space.prefix}:*webhook-parked:*:due`);
    expect(String(parked), 'of an endpoint whose id is not quite that').to.include(body.webhookId);
    const ofDevice = (await api.newToken({ scopes: ['events', 'webhooks'], device: 'main' })).value;
    expect((await api.call('GET', '/webhooks', { token: ofDevice })).status).to.equal(403);
    await ensureDevice(space.store, { workspace: 'main', device: 'second' });
    const file = makeMediaId({ workspace: 'main', device: 'second' }, '3A01');
    for (const by of [ofDevice, foreign])
      expect((await api.call('GET', `/media/${file}`, { token: by })).status).to.equal(404);
  });
});
