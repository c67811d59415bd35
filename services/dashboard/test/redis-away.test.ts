import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import type { DeviceView } from '@gateway/contracts/console/views';
import { SessionStore } from '@gateway/dashboard/sessions/session-store';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisProxy, startRedisProxy } from '@gateway/testkit/redis-proxy';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import express from 'express';
import session from 'express-session';
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

  it('keeps the connection of an answer whose session cannot be kept any more: the next request may be on its way by it', async () => {
    const far = await openRedisSpace({ url: proxy.url });
    const { failFast } = far.clients;
    const app = express();
    const notKept: Error[] = [];
    const store = new SessionStore({ ...far.store, redis: failFast }, (error) => notKept.push(error));
    app.use(session({ store, secret: 'secret', resave: false, saveUninitialized: false }));
    app.get('/sign-in', (req, res) => {
      Object.assign(req.session, { user: 'ann', createdAtMs: Date.now() });
      res.json({});
    });
    app.get('/', async (_req, res) => {
      proxy.cut();
      await eventually(() => failFast.status !== 'ready');
      res.json({ isWhole: true });
    });
    const sockets: Socket[] = [];
    const server = app.listen(0, '127.0.0.1').on('connection', (socket) => sockets.push(socket));
    await once(server, 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    try {
      const signedIn = await fetch(`${origin}/sign-in`);
      const [cookie] = signedIn.headers.getSetCookie()[0]!.split(';');
      await signedIn.json();
      const answer = await fetch(origin, { headers: { cookie: cookie! } });
      expect(await answer.json()).to.deep.equal({ isWhole: true });
      for (let turn = 0; turn < 10; turn++) await setImmediate();
      expect(sockets.map(({ destroyed }) => destroyed)).to.deep.equal(sockets.map(() => false));
      expect(notKept).to.have.length(1);
    } finally {
      server.closeAllConnections();
      server.close();
      proxy.restore();
      await far.clients.waitForReady();
      await far.close();
    }
  });
});
