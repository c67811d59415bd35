import { mayAct, USER_ROLES, type UserRole } from '@gateway/contracts/console/users';
import { makeAttemptId } from '@gateway/contracts/ids';
import { OPERATIONS } from '@gateway/dashboard/operations/operations';
import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { findUser } from '@gateway/store/console/users';
import { requestLink } from '@gateway/store/devices/device-state';
import { listSends } from '@gateway/store/sends/listing/list-sends';
import { expect } from 'chai';
import { linkDevice, ownDevice } from '../../api/test/support/device-owner.js';
import { openStream } from './support/live-stream.js';
import { makeSend } from './support/make-send.js';
import { Browser, useTestDashboard } from './support/test-dashboard.js';

/** What each may ask for that those before may not. Written by hand: it is what is meant, and a new operation has its line here. */
const MEANT: Record<UserRole | 'anyone' | 'unknown', string[]> = {
  anyone: ['get /me'],
  unknown: ['post /sign-in', 'post /sign-in/link'],
  viewer: [
    ...['post /sign-out', 'post /sign-out-everywhere', 'post /me/password', 'get /me/sessions', 'get /overview'],
    ...['get /devices', 'get /devices/:device', 'get /devices/:device/history', 'get /devices/:device/picture'],
    ...['get /messages', 'get /messages/:id', 'get /messages/:id/recipients', 'get /opt-outs'],
    ...['get /webhooks', 'get /webhooks/types', 'get /webhooks/:webhook'],
  ],
  operator: [
    ...['connect', 'disconnect', 'simulated-link', 'name', 'default', 'pace', 'remove'].map(
      (deed) => `post /devices/:device/${deed}`,
    ),
    ...['post /messages', 'post /messages/find', 'post /messages/preview', 'post /messages/:id/cancel'],
    ...['get /messages/:id/content', 'get /messages/:id/phone'],
    ...['post /opt-outs', 'post /opt-outs/find', 'post /opt-outs/lift', 'post /webhooks'],
    ...['change', 'delete', 'test', 'rotate', 'pause', 'resume', 'replay'].map(
      (deed) => `post /webhooks/:webhook/${deed}`,
    ),
  ],
  admin: [
    ...['get /tokens', 'post /tokens', 'post /tokens/:keyId/revoke', 'get /audit'],
    ...['get /users', 'post /users', 'post /users/:name/link', 'post /users/:name/role', 'post /users/:name/remove'],
  ],
};

describe('the roles of the console', () => {
  const stage = useTestDashboard();

  it('are for each operation what is meant', () => {
    const found = OPERATIONS.map(({ method, path, for: needed }) => `${needed}: ${method} ${path}`);
    const meant = Object.entries(MEANT).flatMap(([role, paths]) => paths.map((path) => `${role}: ${path}`));
    expect(found.sort()).to.deep.equal(meant.sort());
  });

  it('each operation refuses those who are not signed in, and every lesser role', async () => {
    const lesser = await Promise.all(
      USER_ROLES.map(async (role) => ({ role, browser: await stage.dashboard.signIn(role) })),
    );
    for (const { method, path, for: needed } of OPERATIONS) {
      if (needed === 'anyone' || needed === 'unknown') continue;
      const call = (browser: Browser) =>
        browser.call(method.toUpperCase(), path.replace(/:\w+/, 'none'), method === 'post' ? { json: { bad: 1 } } : {});
      expect((await call(new Browser(stage.dashboard.port))).status, path).to.equal(401);
      for (const { role, browser } of lesser.filter((each) => !mayAct(each.role, needed))) {
        expect((await call(browser)).status, `${role} ${path}`).to.equal(403);
      }
    }
  });

  it('show a viewer neither the code that links a device, nor a number, nor what a message says', async () => {
    const { store } = stage.space;
    const owner = await linkDevice(store, { workspace: 'main', device: 'shop' });
    await owner.observe({ status: 'connected', phone: '447700900999', name: '447700900999' }, 'linked');
    await makeSend(store, owner, { count: 3, text: 'between us alone' });
    const address = { workspace: 'main', device: 'linking' };
    const linking = await ownDevice(store, address);
    await requestLink(store, address, { attemptId: makeAttemptId(), method: 'qrCode', forceNew: false });
    const codeExpiresAtMs = Date.now() + 60_000;
    await linking.observe({ status: 'connecting', reason: 'linking', code: 'a-code-to-scan', codeExpiresAtMs });
    const { sends } = await listSends(store, 'main', { limit: 1 });
    const { messageId } = sends[0]!.send;
    const SECRETS = ['a-code-to-scan', 'between us alone', '900999', '4477000000'];

    /** Where each of the secrets is said, if anywhere. */
    const hear = async (browser: Browser) => {
      const told: { path: string; text: string }[] = [];
      const places = {
        device: ['shop', 'linking'],
        id: [messageId],
        webhook: ['none'],
        keyId: ['none'],
        name: ['none'],
      };
      for (const { path } of OPERATIONS.filter(({ method }) => method === 'get')) {
        const [, name] = /:(\w+)/.exec(path) ?? [];
        for (const value of places[name as keyof typeof places] ?? ['']) {
          const query = path.endsWith('/recipients') ? '?at=0,1,2' : path.endsWith('/phone') ? '?at=0' : '';
          const asked = path.replace(/:\w+/, value) + query;
          told.push({ path: asked, text: (await browser.get(asked)).text });
        }
      }
      const topics = ['devices', 'messages', 'device.linking', 'device.shop', `send.${messageId}`, 'overview.1'];
      const live = await openStream(browser, topics.join());
      await live.wait('device.linking', () => true);
      await live.wait('messages', () => true);
      await live.wait(`send.${messageId}`, () => true);
      live.close();
      told.push(...live.events.map(({ event, data }) => ({ path: event, text: JSON.stringify(data) })));
      return SECRETS.map((secret) => told.filter(({ text }) => text.includes(secret)).map(({ path }) => path));
    };
    expect(await hear(await stage.dashboard.signIn('viewer'))).to.deep.equal([[], [], [], []]);
    const [code, text, phone, recipients] = await hear(await stage.dashboard.signIn('operator'));
    expect(code).to.include.members(['/devices/linking', 'device.linking']);
    expect(text).to.include.members(['/messages', 'messages', `/messages/${messageId}/content`]);
    expect(phone).to.include.members(['/devices', 'devices', '/devices/shop', 'device.shop']);
    expect(recipients).to.deep.equal([`/messages/${messageId}/recipients?at=0,1,2`]);
  });

  it('let no operator become an admin, nor act as one', async () => {
    const operator = await stage.dashboard.signIn('operator');
    const attempts: [string, object][] = [
      ['/users/operator/role', { role: 'admin' }],
      ['/users', { name: 'accomplice', role: 'admin' }],
      ['/users/admin/link', {}],
      ['/users/admin/remove', {}],
      ['/tokens', { name: 'mine', scopes: ['admin'] }],
    ];
    for (const [path, json] of attempts) expect((await operator.post(path, json)).status, path).to.equal(403);
    expect((await findUser(stage.space.store, 'operator'))?.role).to.equal('operator');
    expect(await findUser(stage.space.store, 'accomplice')).to.equal(undefined);
    // What a password is set with says nothing of a role or of another name.
    const odd = await operator.post('/me/password', { password: 'long enough for this', role: 'admin', name: 'admin' });
    expect(odd.status).to.equal(400);
  });

  it('one link signs in one browser, however many use it at the same moment', async () => {
    const secret = await createOneTimeLink(stage.dashboard.store, 'admin');
    const browsers = Array.from({ length: 10 }, () => new Browser(stage.dashboard.port));
    const answers = await Promise.all(browsers.map((browser) => browser.post('/sign-in/link', { secret })));
    expect(answers.filter(({ status }) => status === 200)).to.have.length(1);
    const inside = await Promise.all(browsers.map((browser) => browser.get('/devices')));
    expect(inside.filter(({ status }) => status === 200)).to.have.length(1);
  });
});
