import { listAudit } from '@gateway/store/console/audit';
import { addOptOuts, countOptOuts } from '@gateway/store/workspace/opt-outs';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { startTestApi, type TestApi } from '../../api/test/support/test-api.js';
import { type Browser, startTestDashboard, type TestDashboard } from './support/test-dashboard.js';

describe('opt-outs in the console', () => {
  let space: RedisSpace;
  let api: TestApi;
  let dashboard: TestDashboard;
  let operator: Browser;
  let viewer: Browser;
  before(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space);
    dashboard = await startTestDashboard(space, { apiUrl: api.origin });
    operator = await dashboard.signIn('operator');
    viewer = await dashboard.signIn('viewer');
  });
  after(async () => {
    await dashboard.close();
    await api.close();
    await space.close();
  });

  const readAll = async (browser: Browser) => {
    const people: { phone: string | null; hiddenId?: string }[] = [];
    const texts: string[] = [];
    for (let next: string | null = ''; next !== null; ) {
      const { body, text } = await browser.get(`/opt-outs${next && `?after=${next}`}`);
      people.push(...body.optOuts);
      texts.push(text);
      next = body.next;
    }
    return { people, texts };
  };

  it('adds people, whatever way their numbers are written, and lifts what was asked to be', async () => {
    const added = await operator.post('/opt-outs', { phones: ['+44 7700 900123', '447700900123', '447700900124'] });
    expect(added.body).to.deep.include({ added: 2, unchanged: 0, duplicates: 1 });
    const find = async () => (await operator.post('/opt-outs/find', { person: '+44 7700 900 123' })).body;
    expect(await find()).to.include({ optedOut: true, source: 'api', phone: '447700900123' });
    expect((await operator.post('/opt-outs/lift', { person: '447700900123' })).body.removed).to.equal(true);
    expect(await find()).to.include({ optedOut: false });
    const log = await listAudit(space.store);
    expect(log.slice(0, 2).map(({ action, target }) => [action, target])).to.deep.equal([
      ['opt_out.lifted', undefined],
      ['opt_outs.added', '2'],
    ]);
    expect(JSON.stringify(log)).not.to.include('7700900');
  });

  it('says which of the numbers are none', async () => {
    const { status, body } = await operator.post('/opt-outs', { phones: ['447700900123', 'nonsense'] });
    expect([status, body.code]).to.deep.equal([400, 'invalid_request']);
    expect(body.details[0].path).to.deep.equal(['phone', 1]);
  });

  it('shows each person on exactly one page', async () => {
    const numbers = Array.from({ length: 230 }, (_, index) => `4477009${String(10_000 + index)}`);
    await addOptOuts(space.store, 'main', { numbers, source: 'reply', atMs: Date.now() });
    await addOptOuts(space.store, 'main', { numbers: ['100000000000001@lid'], source: 'reply', atMs: Date.now() });
    const { people } = await readAll(operator);
    expect(people).to.have.length(await countOptOuts(space.store, 'main'));
    expect(people.map(({ phone }) => phone)).to.include.members(numbers);
    expect(people.filter(({ hiddenId }) => hiddenId === '100000000000001@lid')).to.have.length(1);
  });

  it('shows no number to a viewer, nor a place that tells one', async () => {
    const { people, texts } = await readAll(viewer);
    expect(people).to.have.length(await countOptOuts(space.store, 'main'));
    expect(people.filter(({ phone }) => phone !== null && !/^\d{3}\*\*\*\d\d$/.test(phone))).to.deep.equal([]);
    expect(texts.join()).not.to.include('@lid');
    // The API's own cursor is 13 characters, from which the number can be computed.
    const cursors = texts.map((text) => (JSON.parse(text) as { next: string | null }).next).filter((next) => next);
    expect(cursors).not.to.be.empty;
    for (const cursor of cursors) expect(cursor).to.have.length.above(30);
    expect((await viewer.get('/opt-outs?after=0123456789abc')).status).to.equal(400);
    for (const path of ['/opt-outs', '/opt-outs/find', '/opt-outs/lift']) {
      expect((await viewer.post(path, { person: '447700900123', phones: ['447700900123'] })).status).to.equal(403);
    }
  });
});
