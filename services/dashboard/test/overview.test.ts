import { createApiToken } from '@gateway/store/workspace/api-tokens';
import { expect } from 'chai';
import { linkDevice } from '../../api/test/support/device-owner.js';
import { startTestApi } from '../../api/test/support/test-api.js';
import { useTestDashboard } from './support/test-dashboard.js';

describe('the overview of the console', () => {
  const stage = useTestDashboard();

  it('tells each minute of the last hour, what failed, and which of the first steps are done', async () => {
    const viewer = await stage.dashboard.signIn('viewer');
    const read = async () => (await viewer.get('/overview')).body.overview;
    const { minutes, failures, steps } = await read();
    expect(minutes).to.have.length(60);
    expect(minutes[0]).to.include({ sent: 0, failed: 0, ackMs: 0 });
    expect(minutes.at(-1).atMs - minutes[0].atMs).to.equal(59 * 60_000);
    expect(failures).to.deep.equal({});
    expect(steps).to.deep.equal({ hasToken: false, hasSent: false });
    await createApiToken(stage.space.store, 'main', { name: 'mine' });
    expect((await read()).steps).to.deep.equal({ hasToken: true, hasSent: false });

    const api = await startTestApi(stage.space);
    try {
      await linkDevice(stage.space.store, { workspace: 'main', device: 'default' });
      const { status } = await api.call('POST', '/send', { json: { to: '447700900123', text: 'Hello' } });
      expect(status).to.equal(202);
      expect((await read()).steps).to.deep.equal({ hasToken: true, hasSent: true });
    } finally {
      await api.close();
    }
  });
});
