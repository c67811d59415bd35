import { consoleKeys } from '@gateway/contracts/redis-keys';
import { PasswordTurns } from '@gateway/dashboard/sessions/password-turns';
import { defer } from '@gateway/runtime/deferred';
import { toError } from '@gateway/runtime/errors';
import { listAudit } from '@gateway/store/console/audit';
import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { listSessions } from '@gateway/store/console/sessions';
import { createUser, findUser, setPassword } from '@gateway/store/console/users';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { Browser, useTestDashboard } from './support/test-dashboard.js';

const PASSWORD = 'correct horse battery';

describe('signing in to the console', () => {
  const stage = useTestDashboard();
  const newBrowser = () => new Browser(stage.dashboard.port);

  async function newUser(name: string): Promise<void> {
    await createUser(stage.dashboard.store, name, 'operator');
    await setPassword(stage.dashboard.store, name, PASSWORD);
  }

  it('a one-time link signs in once, and tells that there is no password yet', async () => {
    const secret = await createOneTimeLink(stage.dashboard.store, 'admin');
    const first = newBrowser();
    const { status, body } = await first.post('/sign-in/link', { secret });
    expect(status).to.equal(200);
    expect(body.user).to.deep.equal({ name: 'admin', role: 'admin', hasPassword: false });
    expect((await first.get('/devices')).status).to.equal(200);

    const second = await newBrowser().post('/sign-in/link', { secret });
    expect([second.status, second.body.code]).to.deep.equal([401, 'link_used_up']);
    expect(second.headers['set-cookie']).to.equal(undefined);
  });

  it('a password signs in; a wrong one and an unknown name are answered alike', async () => {
    await newUser('ann');
    const browser = newBrowser();
    expect((await browser.post('/sign-in', { name: 'Ann ', password: PASSWORD })).body.user.name).to.equal('ann');
    expect((await browser.get('/me')).body.user).to.include({ name: 'ann', role: 'operator' });
    const refusals = await Promise.all(
      [
        { name: 'ann', password: 'wrong' },
        { name: 'unknown', password: PASSWORD },
        { name: 'admin', password: 'has none' },
      ].map((json) => newBrowser().post('/sign-in', json)),
    );
    for (const { status, body } of refusals) {
      const { requestId: _, ...rest } = body;
      expect(rest).to.deep.equal({ success: false, error: 'Wrong name or password', code: 'wrong_credentials' });
      expect(status).to.equal(401);
    }
  });

  it('begins a session of its own: one that was planted in the browser is worth nothing', async () => {
    await newUser('eve-victim');
    const attacker = newBrowser();
    await newUser('mallory');
    await attacker.post('/sign-in', { name: 'mallory', password: PASSWORD });
    const planted = attacker.cookie!;

    const victim = newBrowser();
    victim.cookie = planted;
    await victim.post('/sign-in', { name: 'eve-victim', password: PASSWORD });
    expect(victim.cookie).not.to.equal(planted);
    expect((await victim.get('/me')).body.user.name).to.equal('eve-victim');
    // What the attacker still holds is no session any more.
    expect((await attacker.get('/devices')).status).to.equal(401);
  });

  it('sets a cookie that no script reads and no other site sends', async () => {
    const { headers } = await newBrowser().post('/sign-in/link', {
      secret: await createOneTimeLink(stage.dashboard.store, 'admin'),
    });
    expect(headers['set-cookie']).to.have.length(1);
    expect(headers['set-cookie']![0]).to.match(/^console=[^;]+; Path=\/; HttpOnly; SameSite=Strict$/);
  });

  it('a cookie that was changed, or made up, is none', async () => {
    const browser = await stage.dashboard.signIn();
    browser.cookie = browser.cookie!.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    expect((await browser.get('/devices')).status).to.equal(401);
    browser.cookie = 'console=s%3Aanything.anything';
    expect((await browser.get('/devices')).status).to.equal(401);
  });

  it('signing out ends this session, signing out everywhere ends all of the user', async () => {
    await newUser('bob');
    const browsers = [newBrowser(), newBrowser(), newBrowser()];
    for (const browser of browsers) await browser.post('/sign-in', { name: 'bob', password: PASSWORD });
    await browsers[0]!.post('/sign-out');
    const states = async () => Promise.all(browsers.map(async (browser) => (await browser.get('/devices')).status));
    expect(await states()).to.deep.equal([401, 200, 200]);
    await browsers[1]!.post('/sign-out-everywhere');
    expect(await states()).to.deep.equal([401, 401, 401]);
  });

  it('a new password wants the former one, and ends all other sessions', async () => {
    await newUser('carol');
    const [here, there] = [newBrowser(), newBrowser()];
    for (const browser of [here, there]) await browser.post('/sign-in', { name: 'carol', password: PASSWORD });
    const refused = await here.post('/me/password', { password: 'another password' });
    expect([refused.status, refused.body.code]).to.deep.equal([401, 'wrong_credentials']);
    expect((await here.post('/me/password', { password: 'short', former: PASSWORD })).status).to.equal(400);
    expect((await here.post('/me/password', { password: 'another password', former: PASSWORD })).status).to.equal(200);
    expect((await here.get('/devices')).status).to.equal(200);
    expect((await there.get('/devices')).status).to.equal(401);
    expect((await there.post('/sign-in', { name: 'carol', password: PASSWORD })).status).to.equal(401);
  });

  it('by a link, a password that was forgotten is replaced', async () => {
    await newUser('dora');
    const browser = newBrowser();
    await browser.post('/sign-in/link', { secret: await createOneTimeLink(stage.dashboard.store, 'dora') });
    expect((await browser.post('/me/password', { password: 'another password' })).status).to.equal(200);
    expect((await newBrowser().post('/sign-in', { name: 'dora', password: 'another password' })).status).to.equal(200);
    // Only once: the session is one of a password now.
    expect((await browser.post('/me/password', { password: 'and yet another' })).status).to.equal(401);
  });

  it('a session lives eight hours after its last use, and seven days at most', async () => {
    const browser = await stage.dashboard.signIn('viewer');
    const { store } = stage.dashboard;
    const [{ digest, record }] = (await listSessions(store, 'viewer')) as [Awaited<ReturnType<typeof listSessions>>[0]];
    const key = consoleKeys(store.space).session(digest);
    const HOUR_MS = 3_600_000;
    await store.redis.pexpire(key, 60_000);
    expect((await browser.get('/devices')).status).to.equal(200);
    await eventually(async () => (await store.redis.pttl(key)) > 7.9 * HOUR_MS, { what: 'eight hours from now' });
    const old = { ...record, createdAtMs: Date.now() - 7 * 24 * HOUR_MS };
    await store.redis.set(key, JSON.stringify(old), 'PX', HOUR_MS);
    expect((await browser.get('/devices')).status).to.equal(401);
    await store.redis.set(key, JSON.stringify(record), 'PX', 1);
    // A request before its end would prolong it.
    await eventually(async () => (await store.redis.exists(key)) === 0);
    expect((await browser.get('/devices')).status).to.equal(401);
  });

  it('a user who is removed is out with the next request', async () => {
    await newUser('frank');
    const browser = newBrowser();
    await browser.post('/sign-in', { name: 'frank', password: PASSWORD });
    await stage.space.store.redis.del(...(await stage.space.store.redis.keys(`${stage.space.prefix}:*:user:frank`)));
    expect(await findUser(stage.dashboard.store, 'frank')).to.equal(undefined);
    expect((await browser.get('/devices')).status).to.equal(401);
  });

  it('is in the audit log, with the id of the request', async () => {
    await newUser('grace');
    const { headers } = await newBrowser().post('/sign-in', { name: 'grace', password: PASSWORD });
    const [entry] = await listAudit(stage.dashboard.store);
    expect(entry).to.include({ user: 'grace', action: 'session.signed_in', requestId: headers['x-request-id'] });
  });
});

describe('guessing passwords', () => {
  const stage = useTestDashboard();

  it('ends for an account after ten failures in a minute, and success costs nothing', async () => {
    await createUser(stage.dashboard.store, 'ann', 'viewer');
    await setPassword(stage.dashboard.store, 'ann', PASSWORD);
    const attempt = async (name: string, password: string) => {
      const { status } = await new Browser(stage.dashboard.port).post('/sign-in', { name, password });
      return status;
    };
    for (let success = 0; success < 12; success++) expect(await attempt('ann', PASSWORD)).to.equal(200);
    // What a success had counted is taken back after its answer.
    const counters = () => stage.space.store.redis.keys(`${stage.space.prefix}:*sign-in-account:*`);
    await eventually(async () => {
      const [counter] = await counters();
      return counter === undefined || Number(await stage.space.store.redis.get(counter)) === 0;
    });
    for (let failure = 0; failure < 10; failure++) expect(await attempt('ann', 'wrong')).to.equal(401);
    expect(await attempt('ann', PASSWORD)).to.equal(429);
    expect(await attempt(' Ann', PASSWORD), 'however it is typed').to.equal(429);
    expect(await attempt('other', 'wrong')).to.equal(401);
    expect((await counters()).join()).not.to.include('ann');
  });

  it('hashes two passwords at a time, with twenty in line, and none for a caller who is gone', async () => {
    const turns = new PasswordTurns();
    const hashed: number[] = [];
    const allDone = defer<void>();
    const gone = new AbortController();
    const take = async (number: number, signal = new AbortController().signal) =>
      turns.take(signal, async () => {
        hashed.push(number);
        await allDone.promise;
      });
    const taken = Array.from({ length: 22 }, (_, number) => take(number, number === 5 ? gone.signal : undefined));
    expect(((await take(22).catch(toError)) as Error).message).to.equal('Service unavailable');
    gone.abort();
    expect(hashed).to.deep.equal([0, 1]);
    allDone.resolve();
    const results = await Promise.allSettled(taken);
    expect(results.filter(({ status }) => status === 'rejected')).to.have.length(1);
    expect(hashed).to.have.length(21).and.not.to.include(5);
  });

  it('ends for an address after twenty, whatever names it tries', async () => {
    const statuses: number[] = [];
    for (let name = 0; name < 21; name++) {
      const { status } = await new Browser(stage.dashboard.port).post('/sign-in/link', { secret: `guess-${name}` });
      statuses.push(status);
    }
    expect(statuses.at(-1)).to.equal(429);
  });
});
