import type { DeviceView } from '@gateway/contracts/console/views';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisProxy, startRedisProxy } from '@gateway/testkit/redis-proxy';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from '../../api/test/support/device-owner.js';
import { openStream } from './support/live-stream.js';
import { Browser, startTestDashboard, type TestDashboard } from './support/test-dashboard.js';

describe('the console while Redis is away', () => {
  let space: RedisSpace;
  let proxy: RedisProxy;
  let dashboard: TestDashboard;
  before(async () => {
    space = await openRedisSpace();
    proxy = await startRedisProxy(space.url);
    dashboard = await startTestDashboard(space, { redisUrl: proxy.url });
  });
  after(async () => {
    await dashboard.close();
    proxy.close();
    await space.close();
  });

  it('hands out its page, says 503 for the rest, and goes on by itself with the same session', async () => {
    const browser = await dashboard.signIn();
    const stream = await openStream(browser, 'devices');
    await stream.wait<DeviceView[]>('devices', (views) => views.length === 0);
    proxy.cut();
    await eventually(async () => {
      const { status, body } = await browser.get('/devices');
      return status === 503 && body.code === 'unavailable';
    });
    expect((await browser.get('//console')).status).to.equal(200);
    const signIn = await new Browser(dashboard.port).post('/sign-in', { name: 'admin', password: 'whatever it is' });
    expect([signIn.status, signIn.body.code]).to.deep.equal([503, 'unavailable']);

    await linkDevice(space.store, { workspace: 'main', device: 'made-meanwhile' });
    proxy.restore();
    await stream.wait<DeviceView[]>('devices', (views) => views.some(({ id }) => id === 'made-meanwhile'));
    await eventually(async () => (await browser.get('/devices')).status === 200);
    stream.close();
  });
});
