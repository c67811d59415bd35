import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { SessionStore } from '@gateway/dashboard/sessions/session-store';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisProxy, startRedisProxy } from '@gateway/testkit/redis-proxy';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import express from 'express';
import session from 'express-session';

describe('a session of the console that cannot be kept, as Redis went away meanwhile', () => {
  let space: RedisSpace;
  let proxy: RedisProxy;
  let far: RedisSpace;
  let server: Server;
  before(async () => {
    space = await openRedisSpace();
    proxy = await startRedisProxy(space.url);
    far = await openRedisSpace({ url: proxy.url });
  });
  after(async () => {
    server.closeAllConnections();
    server.close();
    proxy.restore();
    await far.clients.waitForReady();
    await far.close();
    proxy.close();
    await space.close();
  });

  it('takes nothing from the answer, nor its connection, by which the next request may be on its way', async () => {
    const { failFast } = far.clients;
    const app = express();
    const store = new SessionStore({ ...far.store, redis: failFast });
    app.use(session({ store, secret: 'secret', resave: false, saveUninitialized: false, name: 'id' }));
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
    server = createServer(app).on('connection', (socket) => sockets.push(socket));
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const signedIn = await fetch(`${origin}/sign-in`);
    const [cookie] = signedIn.headers.getSetCookie()[0]!.split(';');
    await signedIn.json();
    const answer = await fetch(origin, { headers: { cookie: cookie! } });
    expect(await answer.json()).to.deep.equal({ isWhole: true });
    for (let turn = 0; turn < 10; turn++) await setImmediate();
    expect(sockets.map(({ destroyed }) => destroyed)).to.deep.equal(sockets.map(() => false));
  });
});
