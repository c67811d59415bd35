import { OverviewReader } from '@gateway/dashboard/views/overview';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { expect } from 'chai';
import { linkDevice } from '../../api/test/support/device-owner.js';
import { startTestApi } from '../../api/test/support/test-api.js';
import { makeSend } from './support/make-send.js';
import { useTestDashboard } from './support/test-dashboard.js';

describe('the overview of the console', () => {
  const stage = useTestDashboard();

  it('tells each minute of the last hour, what failed, and which of the first steps are done', async () => {
    const viewer = await stage.dashboard.signIn('viewer');
    const read = async () => (await viewer.get('/overview')).body.overview;
    const { bars, failures, steps } = await read();
    expect(bars).to.have.length(60);
    expect(bars[0]).to.include({ sent: 0, failed: 0, ackMs: 0 });
    expect(bars.at(-1).atMs - bars[0].atMs).to.equal(59 * 60_000);
    expect(failures).to.deep.equal({});
    expect(steps).to.deep.equal({ hasToken: false, hasSent: false });
    await createApiToken(stage.space.store, 'main', { name: 'mine' });
    expect((await read()).steps).to.deep.equal({ hasToken: true, hasSent: false });

    const api = await startTestApi(stage.space);
    try {
      await linkDevice(stage.space.store, { workspace: 'main', device: 'default' });
      const { status } = await api.call('POST', '/send', { json: { to: '447700900123', text: 'Hello' } });
      expect(status).to.equal(202);
      const overview = await read();
      expect(overview.steps).to.deep.equal({ hasToken: true, hasSent: true });
      // At once, and not when the minute is over.
      expect(overview.bars.reduce((sum: number, { queued }: { queued: number }) => sum + queued, 0)).to.equal(1);
    } finally {
      await api.close();
    }
  });

  it('is read once for all who ask at the same time, and again for those who ask later', async () => {
    const { store } = stage.space;
    const reader = new OverviewReader({ store, workspace: 'main', nowMs: () => Date.now() });
    const askAll = async () => new Set(await Promise.all(Array.from({ length: 50 }, () => reader.read(168))));
    const [first, later] = [await askAll(), await askAll()];
    expect([first.size, later.size]).to.deep.equal([1, 1]);
    expect([...first][0]).not.to.equal([...later][0]);
  });

  it('looks back an hour, a day or a week, and tells which send should have been through long ago', async () => {
    const viewer = await stage.dashboard.signIn('viewer');
    const read = async (hours: number) => (await viewer.get(`/overview?hours=${hours}`)).body.overview;
    const owner = await linkDevice(stage.space.store, { workspace: 'main', device: 'slow' });
    await makeSend(stage.space.store, owner, { count: 10, text: 'late', finishAtMs: Date.now() - 600_000 });
    await makeSend(stage.space.store, owner, { count: 10, text: 'in time', finishAtMs: Date.now() + 600_000 });
    const day = await read(24);
    expect(day.bars).to.have.length(72);
    expect(day.overdue).to.deep.include({ count: 1 });
    expect(day.overdue.oldest).to.include({ device: 'slow' });
    const week = await read(168);
    expect(week.bars).to.have.length(84);
    expect(week.failures).to.deep.equal({ network_463: 2 });
    for (const hours of ['2', 'x', '1&hours=24'])
      expect((await viewer.get(`/overview?hours=${hours}`)).status).to.equal(400);
  });
});
