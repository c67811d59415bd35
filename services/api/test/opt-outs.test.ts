import { addOptOuts, findOptOut } from '@gateway/store/workspace/opt-outs';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { startTestApi, type TestApi } from './support/test-api.js';

const PHONE = '447700900001';

describe('the list of opt-outs', () => {
  let space: RedisSpace;
  let api: TestApi;

  beforeEach(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space);
  });
  afterEach(async () => {
    await api.close();
    await space.close();
  });

  const add = async (phone: unknown) => api.call('POST', '/opt-outs', { json: { phone } });
  const show = async (phone: string) => (await api.call('GET', `/opt-outs/${encodeURIComponent(phone)}`)).body;

  async function listAll(limit: number): Promise<string[]> {
    const phones: string[] = [];
    let cursor: unknown = null;
    do {
      const { status, body } = await api.call(
        'GET',
        `/opt-outs?limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`,
      );
      expect(status).to.equal(200);
      const page = body.optOuts as { phone: string }[];
      expect(page.length).to.be.at.most(limit);
      phones.push(...page.map(({ phone }) => phone));
      cursor = body.nextCursor;
    } while (cursor !== null);
    return phones;
  }

  it('takes one number, as people write it, and says so when asked', async () => {
    const { status, body } = await add('+44 (7700) 900-001');
    expect(status).to.equal(200);
    expect(body).to.deep.equal({ success: true, added: 1, unchanged: 0, duplicates: 0 });
    const { at, ...shown } = await show(PHONE);
    expect(shown).to.deep.equal({ success: true, phone: PHONE, optedOut: true, source: 'api' });
    expect(Date.parse(String(at))).to.be.closeTo(Date.now(), 5_000);
    expect(await show('+447700900001')).to.include({ optedOut: true });
  });

  it('needs no device', async () => {
    expect((await api.call('GET', '/status')).body.status).to.equal('disconnected');
    expect((await add(PHONE)).status).to.equal(200);
  });

  it('takes 10,000 numbers at once, and the same again without a change', async () => {
    const numbers = Array.from({ length: 10_000 }, (_, i) => `+44 7700 ${String(100_000 + i)}`);
    expect((await add(numbers)).body).to.include({ added: 10_000, unchanged: 0, duplicates: 0 });
    expect((await add(numbers)).body).to.include({ added: 0, unchanged: 10_000 });
    const { status, body } = await add([...numbers, PHONE]);
    expect(status).to.equal(400);
    expect(body.details).to.deep.equal([{ path: ['phone'], message: 'must not name more than 10000 recipients' }]);
  });

  it('counts the ways to write one number as one person', async () => {
    const { body } = await add(['553187654321', '5531987654321', '+55 31 98765-4321', PHONE]);
    expect(body).to.include({ added: 2, unchanged: 0, duplicates: 2 });
    expect(await show('553187654321')).to.include({ phone: '5531987654321', optedOut: true });
  });

  it('refuses the whole request when one number is none, and never shows it', async () => {
    const { status, body } = await add([PHONE, 'not-a-number', '0123']);
    expect(status).to.equal(400);
    expect((body.details as { path: unknown[] }[]).map(({ path }) => path)).to.deep.equal([
      ['phone', 1],
      ['phone', 2],
    ]);
    expect(JSON.stringify(body)).not.to.match(/not-a|0123/);
    expect(await show(PHONE)).to.include({ optedOut: false });
  });

  for (const [what, json] of [
    ['no number', {}],
    ['an empty list', { phone: [] }],
    ['an unknown field', { phone: PHONE, scope: 'all' }],
    ['a number of JSON', { phone: 447700900001 }],
  ] as const) {
    it(`refuses ${what} (400)`, async () => {
      expect((await api.call('POST', '/opt-outs', { json })).status).to.equal(400);
    });
  }

  it('shows people without a known number as such, and lets them go', async () => {
    const hidden = Array.from({ length: 3 }, (_, i) => `10000000000000${i}@lid`);
    await addOptOuts(space.store, 'main', { numbers: [...hidden, PHONE], source: 'reply', atMs: Date.now() });
    const { body } = await api.call('GET', '/opt-outs');
    expect(body.total).to.equal(4);
    const shown = (body.optOuts as Record<string, unknown>[]).map(({ phone, hiddenId }) => ({ phone, hiddenId }));
    expect(shown).to.deep.include.members([
      { phone: PHONE, hiddenId: undefined },
      ...hidden.map((hiddenId) => ({ phone: null, hiddenId })),
    ]);
    expect(await listAll(1), 'page by page').to.have.length(4);
    expect(await show(hidden[0]!)).to.include({ phone: null, hiddenId: hidden[0], optedOut: true, source: 'reply' });
    expect(await show('100000000000000'), 'a number of the same digits').to.include({ optedOut: false });
    const removed = await api.call('DELETE', `/opt-outs/${encodeURIComponent(hidden[0]!)}`);
    expect(removed.body).to.deep.equal({ success: true, phone: null, hiddenId: hidden[0], removed: true });
    expect(await show(hidden[0]!)).to.include({ optedOut: false });
  });

  it('refuses what is no number in an address (400)', async () => {
    for (const method of ['GET', 'DELETE']) {
      const { status, body } = await api.call(method, '/opt-outs/no-number');
      expect(status).to.equal(400);
      expect((body.details as { path: unknown[] }[])[0]!.path).to.deep.equal(['phone']);
    }
  });

  it('says of others that they have not opted out', async () => {
    expect(await show(PHONE)).to.deep.equal({ success: true, phone: PHONE, optedOut: false });
  });

  it('lets people go, once', async () => {
    await addOptOuts(space.store, 'main', { numbers: [PHONE], source: 'reply', atMs: Date.now() });
    expect((await api.call('DELETE', `/opt-outs/${PHONE}`)).body).to.deep.equal({
      success: true,
      phone: PHONE,
      removed: true,
    });
    expect((await api.call('DELETE', `/opt-outs/${PHONE}`)).body).to.include({ removed: false });
    expect(await findOptOut(space.store, 'main', PHONE)).to.equal(undefined);
  });

  it('is shown page by page', async () => {
    const empty = await api.call('GET', '/opt-outs');
    expect(empty.body).to.deep.equal({ success: true, optOuts: [], total: 0, nextCursor: null });
    const numbers = Array.from({ length: 250 }, (_, i) => String(447_700_900_000 + i));
    await add(numbers);
    expect((await listAll(100)).sort()).to.deep.equal(numbers);
    expect((await listAll(250)).sort()).to.deep.equal(numbers);
    expect((await listAll(7)).sort()).to.deep.equal(numbers);
    const { body } = await api.call('GET', '/opt-outs?limit=1');
    expect(body.total).to.equal(250);
    expect(body.nextCursor)
      .to.match(/^[0-9a-z]{13}$/)
      .and.not.include('4477');
  });

  it('refuses pages that there cannot be (400)', async () => {
    for (const query of ['limit=0', 'limit=1001', 'cursor=x', 'after=447700900001'])
      expect((await api.call('GET', `/opt-outs?${query}`)).status, query).to.equal(400);
  });

  it('is added to by tokens of any device', async () => {
    const { value: token } = await api.newToken({ device: 'shop' });
    expect((await api.call('POST', '/opt-outs', { token, json: { phone: PHONE } })).body).to.include({ added: 1 });
    expect(await show(PHONE)).to.include({ optedOut: true });
  });

  it('needs a token (401), has no other methods (405), and a limit (429)', async () => {
    expect((await api.call('GET', '/opt-outs', { token: undefined })).status).to.equal(401);
    expect((await api.call('DELETE', '/opt-outs')).headers.get('allow')).to.equal('GET, HEAD, POST');
    expect((await api.call('POST', `/opt-outs/${PHONE}`)).headers.get('allow')).to.equal('GET, HEAD, DELETE');
    const { value: token } = await api.newToken();
    const statuses: number[] = [];
    for (let i = 0; i < 61; i++) statuses.push((await api.call('GET', `/opt-outs/${PHONE}`, { token })).status);
    expect(statuses.filter((status) => status === 200)).to.have.length(60);
    expect(statuses.at(-1)).to.equal(429);
  });
});
