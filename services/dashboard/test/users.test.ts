import { consoleKeys } from '@gateway/contracts/redis-keys';
import { recordAudit } from '@gateway/store/console/audit';
import { listSessions } from '@gateway/store/console/sessions';
import { findUser, setRole } from '@gateway/store/console/users';
import { expect } from 'chai';
import { Browser, useTestDashboard } from './support/test-dashboard.js';

describe('users of the console, and what they did', () => {
  const stage = useTestDashboard();
  let admin: Browser;
  before(async () => {
    admin = await stage.dashboard.signIn();
  });

  const create = (name: string, role = 'operator') => admin.post('/users', { name, role });
  const enter = async (secret: string) => {
    const browser = new Browser(stage.dashboard.port);
    await browser.post('/sign-in/link', { secret });
    return browser;
  };
  const nameOf = async (browser: Browser) => (await browser.get('/me')).body.user?.name;

  it('a new user is signed in by the link, once', async () => {
    const made = await create(' Ann@Example.com ');
    expect(made.status).to.equal(201);
    expect(made.body.user).to.include({ name: 'ann@example.com', role: 'operator', hasPassword: false, sessions: 0 });
    const ann = await enter(made.body.secret);
    expect(await nameOf(ann)).to.equal('ann@example.com');
    expect(await nameOf(await enter(made.body.secret))).to.equal(undefined);
    const { text, body } = await admin.get('/users');
    expect(text).not.to.include(made.body.secret);
    expect(body.users.map((user: { name: string; sessions: number }) => [user.name, user.sessions])).to.deep.equal([
      ['admin', 1],
      ['ann@example.com', 1],
    ]);
  });

  it('refuses a name that is taken, or is none', async () => {
    const taken = await create('admin', 'viewer');
    expect([taken.status, taken.body.code]).to.deep.equal([409, 'name_taken']);
    expect((await findUser(stage.dashboard.store, 'admin'))?.role).to.equal('admin');
    expect((await create('<b>')).status).to.equal(400);
    expect((await create('fine', 'owner')).status).to.equal(400);
  });

  it('another role counts from the next request on', async () => {
    const bob = await enter((await create('bob', 'admin')).body.secret);
    expect((await bob.get('/users')).status).to.equal(200);
    expect((await admin.post('/users/bob/role', { role: 'viewer' })).body.user.role).to.equal('viewer');
    expect((await bob.get('/users')).body.code).to.equal('not_allowed');
    expect((await admin.post('/users/not-there/role', { role: 'viewer' })).status).to.equal(404);
  });

  it('one that is removed is signed in nowhere, and no change brings them back', async () => {
    const made = await create('carol');
    const carol = await enter(made.body.secret);
    const { secret } = (await admin.post('/users/carol/link')).body;
    expect((await admin.post('/users/carol/remove')).status).to.equal(200);
    expect((await carol.get('/devices')).status).to.equal(401);
    expect((await (await enter(secret)).get('/devices')).status).to.equal(401);
    expect((await admin.post('/users/carol/remove')).status).to.equal(404);
    expect(await setRole(stage.dashboard.store, 'carol', 'admin')).to.equal(undefined);
  });

  it('of one that is removed neither link nor session is worth anything to a new one of that name', async () => {
    const made = await create('eve', 'admin');
    const { secret } = (await admin.post('/users/eve/link')).body;
    const former = await enter(made.body.secret);
    // As when a sign-in is under way while the user is removed: the session outlives them.
    const { store } = stage.dashboard;
    const [session] = await listSessions(store, 'eve');
    await admin.post('/users/eve/remove');
    await store.redis.set(consoleKeys(store.space).session(session!.digest), JSON.stringify(session!.record));
    const anew = await create('eve', 'viewer');
    expect((await former.get('/devices')).status).to.equal(401);
    expect(await nameOf(await enter(secret))).to.equal(undefined);
    expect(await nameOf(await enter(anew.body.secret))).to.equal('eve');
  });

  it('no admin changes or removes themselves, so that there is always one', async () => {
    for (const [path, json] of [
      ['role', { role: 'viewer' }],
      ['remove', {}],
    ] as const) {
      const { status, body } = await admin.post(`/users/admin/${path}`, json);
      expect([status, body.code]).to.deep.equal([403, 'not_oneself']);
    }
    expect(await nameOf(admin)).to.equal('admin');
  });

  it('users and the audit log are for admins alone', async () => {
    const operator = await stage.dashboard.signIn('operator');
    for (const path of ['/users', '/audit']) expect((await operator.get(path)).body.code).to.equal('not_allowed');
    for (const path of ['/users', '/users/admin/link', '/users/admin/remove', '/users/operator/role']) {
      const { body } = await operator.post(path, { name: 'mine', role: 'admin' });
      expect(body.code).to.equal('not_allowed');
    }
  });

  it('a user sees their own sessions, and which of them this one is', async () => {
    const first = await enter((await create('dora')).body.secret);
    const second = new Browser(stage.dashboard.port);
    const { secret } = (await admin.post('/users/dora/link')).body;
    await second.post('/sign-in/link', { secret }, { 'user-agent': `Firefox ${'x'.repeat(500)}` });
    const { body, text } = await second.get('/me/sessions');
    expect(body.sessions.map(({ isThis }: { isThis: boolean }) => isThis)).to.have.members([true, false]);
    const own = body.sessions.find(({ isThis }: { isThis: boolean }) => isThis);
    expect(own.browser)
      .to.match(/^Firefox x+$/)
      .and.have.length(200);
    expect(own.lastUsedAtMs).to.be.closeTo(Date.now(), 20_000);
    expect(text).not.to.include(first.cookie!.slice(12, 40));
    await second.post('/sign-out-everywhere');
    expect((await first.get('/me/sessions')).status).to.equal(401);
  });

  it('shows what was done page by page, and finds what little there is of it', async () => {
    const { store } = stage.dashboard;
    await recordAudit(store, { user: 'zoe', action: 'token.created', target: 'first' });
    for (let index = 0; index < 120; index++) {
      await recordAudit(store, { user: 'many', action: 'token.revoked', target: `t${index}` });
    }
    const pages: string[][] = [];
    let next: string | null = '';
    while (next !== null) {
      const { body } = await admin.get(`/audit?user=many&before=${next}`);
      pages.push(body.entries.map(({ target }: { target: string }) => target));
      next = body.next;
    }
    expect(pages.map(({ length }) => length)).to.deep.equal([50, 50, 20]);
    expect(new Set(pages.flat()).size).to.equal(120);
    const found = (await admin.get('/audit?user=zoe&action=token.created')).body;
    expect(found.entries).to.have.length(1);
    expect(found).to.have.property('next', null);
    expect((await admin.get('/audit?user=zoe&action=token.revoked')).body.entries).to.deep.equal([]);
    for (const before of ['x', '0-0', '5-0q'])
      expect((await admin.get(`/audit?before=${before}`)).status, before).to.equal(400);
  });

  it('shows what was done in its own workspace and to the installation, and nothing of another workspace', async () => {
    const { store } = stage.dashboard;
    const who = { user: 'wendy', target: 'x' };
    await recordAudit(store, { ...who, action: 'token.created', workspace: 'main' });
    await recordAudit(store, { ...who, action: 'token.revoked', workspace: 'shop' });
    await recordAudit(store, { ...who, action: 'message.cancelled', workspace: 'shop' }, 'a-program');
    await recordAudit(store, { ...who, action: 'user.created', workspace: 'shop' });
    const { entries } = (await admin.get('/audit?user=wendy')).body;
    expect(entries.map(({ action }: { action: string }) => action)).to.deep.equal(['user.created', 'token.created']);
  });

  it('shows nothing that is older than 90 days', async () => {
    const { store } = stage.dashboard;
    const oldMs = Date.now() - 91 * 86_400_000;
    const key = consoleKeys(store.space).audit;
    await store.redis.del(key);
    await store.redis.xadd(key, `${oldMs}-0`, 'user', 'ancient', 'action', 'token.created', 'atMs', oldMs);
    await recordAudit(store, { user: 'new', action: 'token.created' });
    expect((await admin.get('/audit')).body.entries.map(({ user }: { user: string }) => user)).to.deep.equal(['new']);
  });
});
