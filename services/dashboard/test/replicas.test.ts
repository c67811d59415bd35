import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { openStream } from './support/live-stream.js';
import { Browser, startTestDashboard, type TestDashboard, useTestDashboard } from './support/test-dashboard.js';

describe('two replicas of the console, behind anything that shares out requests', () => {
  const stage = useTestDashboard({ beatMs: 100 });
  let other: TestDashboard;
  before(async () => {
    other = await startTestDashboard(stage.space, { beatMs: 100 });
  });
  after(() => other.close());

  /** The same browser, whose next requests the other replica gets. */
  function goOn({ cookie }: Browser, { port }: TestDashboard): Browser {
    const browser = new Browser(port);
    browser.cookie = cookie;
    return browser;
  }

  it('know the same session, and end it together', async () => {
    const here = await stage.dashboard.signIn('operator');
    const there = goOn(here, other);
    const { body } = await there.get('/me');
    expect(body.user.name).to.equal('operator');
    const stream = await openStream(here, 'devices');
    expect(stream.status).to.equal(200);
    expect((await there.post('/sign-out')).status).to.equal(200);
    expect((await here.get('/devices')).status).to.equal(401);
    await eventually(() => stream.hasEnded(), { what: 'the end of its stream at the other one' });
  });

  it('show what was set by way of either', async () => {
    const here = await stage.dashboard.signIn();
    const there = goOn(here, other);
    const made = await here.post('/tokens', { name: 'made here' });
    const { tokens } = (await there.get('/tokens')).body;
    expect(tokens.map(({ keyId }: { keyId: string }) => keyId)).to.include(made.body.token.keyId);
    await there.post(`/tokens/${made.body.token.keyId}/revoke`);
    const after = (await here.get('/tokens')).body.tokens.find(
      ({ keyId }: { keyId: string }) => keyId === made.body.token.keyId,
    );
    expect(after.state).to.equal('revoked');
  });
});
