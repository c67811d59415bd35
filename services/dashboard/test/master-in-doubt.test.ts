import { MasterInDoubtError } from '@gateway/store/core/confirming/standing';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { openStream } from './support/live-stream.js';
import { Browser, useTestDashboard } from './support/test-dashboard.js';

describe('the console of a process whose master may have been replaced', () => {
  let stands = true;
  const standing = {
    assert: async () => {
      if (!stands) throw new MasterInDoubtError();
      return 0;
    },
  };
  const stage = useTestDashboard({ standing, beatMs: 50 });

  it('answers no one who may have been signed out elsewhere, and ends their streams', async () => {
    const browser = await stage.dashboard.signIn();
    const stream = await openStream(browser, 'devices');
    expect((await browser.get('/devices')).status).to.equal(200);
    stands = false;
    await eventually(() => stream.hasEnded());
    const { status, body } = await browser.get('/devices');
    expect([status, body.code]).to.deep.equal([503, 'unavailable']);
    expect((await new Browser(stage.dashboard.port).get('//console')).status, 'the page itself').to.equal(200);
    stands = true;
    expect((await browser.get('/devices')).status, 'the same session').to.equal(200);
  });
});
