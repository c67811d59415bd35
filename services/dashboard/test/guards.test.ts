import { readDashboardConfig, simulatorOf } from '@gateway/dashboard/config';
import { OPERATIONS } from '@gateway/dashboard/operations/operations';
import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { expect } from 'chai';
import { Browser, useTestDashboard } from './support/test-dashboard.js';

describe('what other sites may make a browser do', () => {
  const stage = useTestDashboard();

  it('writes are taken from a page of the console alone', async () => {
    const browser = await stage.dashboard.signIn();
    const write = (headers: Record<string, string>) =>
      browser.send('POST', '/console/api/tokens', { json: { name: 'x' }, headers });
    const here = `127.0.0.1:${stage.dashboard.port}`;
    const cases: [Record<string, string>, number][] = [
      [{ 'sec-fetch-site': 'same-origin' }, 201],
      [{ 'sec-fetch-site': 'same-site' }, 403],
      [{ 'sec-fetch-site': 'cross-site' }, 403],
      [{ 'sec-fetch-site': 'none' }, 403],
      // Browsers from before Sec-Fetch-Site.
      [{ origin: `http://${here}` }, 201],
      [{ origin: 'https://evil.example' }, 403],
      [{ origin: 'null' }, 403],
      [{}, 403],
      // The first says more than the second.
      [{ 'sec-fetch-site': 'cross-site', origin: `http://${here}` }, 403],
      // What a form of another site can send.
      [{ 'sec-fetch-site': 'same-origin', 'content-type': 'text/plain' }, 415],
    ];
    for (const [headers, status] of cases) {
      expect((await write(headers)).status, JSON.stringify(headers)).to.equal(status);
    }
  });

  it('that goes for each write there is', async () => {
    const browser = await stage.dashboard.signIn();
    for (const { path } of OPERATIONS.filter(({ method }) => method === 'post')) {
      const write = async (headers: Record<string, string>) => {
        const { status } = await browser.send('POST', `/console/api${path.replace(/:\w+/, 'none')}`, {
          json: {},
          headers,
        });
        return status;
      };
      expect(await write({ 'sec-fetch-site': 'cross-site' }), path).to.equal(403);
      expect(await write({ 'sec-fetch-site': 'same-origin', 'content-type': 'text/plain' }), path).to.equal(415);
    }
    expect((await browser.get('/devices')).status, 'and none of them signed out').to.equal(200);
  });

  it('signing in is such a write, too: no site signs a browser in as someone else', async () => {
    const { status, body } = await new Browser(stage.dashboard.port).call('POST', '/sign-in', {
      json: { name: 'admin', password: 'x' },
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    expect([status, body.code]).to.deep.equal([403, 'foreign_request']);
  });

  it('the page runs what is its own, and is in no frame', async () => {
    const [one, two] = await Promise.all([
      new Browser(stage.dashboard.port).get('//console'),
      new Browser(stage.dashboard.port).get('//console/devices/x'),
    ]);
    const policy = String(one.headers['content-security-policy']);
    expect(policy)
      .to.include("default-src 'none'")
      .and.include("frame-ancestors 'none'")
      .and.include("base-uri 'none'");
    expect(policy).not.to.match(/unsafe|\*|data:|https?:/);
    const nonce = /nonce-([^']+)/.exec(policy)![1]!;
    expect(one.text).to.include(`nonce="${nonce}"`);
    expect(two.text).to.include('<script').and.not.to.include(nonce);
    expect(one.headers['cache-control']).to.equal('no-store');
    expect(one.headers).to.include({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
    expect(one.headers['x-powered-by']).to.equal(undefined);
  });

  it('files of the page are kept for good, answers never', async () => {
    const browser = new Browser(stage.dashboard.port);
    expect((await browser.get('//console/assets/a.js')).headers['cache-control']).to.equal(
      'public, max-age=31536000, immutable',
    );
    expect((await browser.get('//console/assets/../index.html')).status).to.be.oneOf([200, 404]);
    expect((await browser.get('//console/assets/none.js')).status).to.equal(404);
    const { headers, body } = await browser.get('/devices');
    expect(headers['cache-control']).to.equal('no-store');
    expect(body).to.include({ code: 'not_signed_in', requestId: headers['x-request-id'] });
  });

  it('no other name than those of this machine is answered', async () => {
    const ask = (host: string) => new Browser(stage.dashboard.port).send('GET', '/console', { headers: { host } });
    for (const host of ['localhost:3001', '127.0.0.1', '[::1]:3001', 'LOCALHOST']) {
      expect((await ask(host)).status, host).to.equal(200);
    }
    for (const host of ['evil.example', '127.0.0.1.evil.example', '10.0.0.5:3001', 'localhost.evil.example:80']) {
      expect((await ask(host)).status, host).to.equal(403);
    }
  });
});

describe('a console behind https', () => {
  const stage = useTestDashboard({ publicUrl: 'https://console.example.com' });

  it('has a cookie for that alone, and is answered under its name', async () => {
    const browser = new Browser(stage.dashboard.port);
    const headers = { host: 'console.example.com', 'x-forwarded-proto': 'https' };
    const page = await browser.call('GET', '//console', { headers });
    expect(page.status).to.equal(200);
    expect(page.headers['strict-transport-security']).to.include('max-age');
    const secret = await createOneTimeLink(stage.dashboard.store, 'admin');
    const answer = await browser.post('/sign-in/link', { secret }, headers);
    expect(answer.headers['set-cookie']![0]).to.match(
      /^__Host-console=[^;]+; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
    expect((await browser.call('GET', '/devices', { headers })).status).to.equal(200);
    expect((await browser.call('GET', '/devices', { headers: { host: 'other.example.com' } })).status).to.equal(403);
  });
});

describe('the settings of the console', () => {
  const KEYS = { CONTENT_KEYS: `k:${'01'.repeat(32)}` };

  it('refuse plain HTTP off this machine unless it is asked for', () => {
    const read = (settings: Record<string, string>) => () => readDashboardConfig({ ...KEYS, ...settings });
    expect(read({ DASHBOARD_HOST: '0.0.0.0' })).to.throw('DASHBOARD_HOST');
    expect(read({ DASHBOARD_HOST: '0.0.0.0', DASHBOARD_URL: 'http://console.example.com' })).to.throw('DASHBOARD_HOST');
    expect(read({ DASHBOARD_HOST: '0.0.0.0', DASHBOARD_URL: 'https://console.example.com' })).not.to.throw();
    expect(read({ DASHBOARD_HOST: '0.0.0.0', DASHBOARD_ALLOW_HTTP: 'true' })).not.to.throw();
    expect(read({})()).to.include({
      DASHBOARD_HOST: '127.0.0.1',
      DASHBOARD_PORT: 3001,
      API_URL: 'http://127.0.0.1:3000',
    });
    const ownApi = { API_URL: 'http://127.0.0.1:4000', API_PUBLIC_URL: 'http://127.0.0.1:4000' };
    expect(read({ API_PORT: '4000' })()).to.include(ownApi);
  });

  it('tell a simulated network by its own root, and never take the real one for it', () => {
    const read = (settings: Record<string, string>) => simulatorOf(readDashboardConfig({ ...KEYS, ...settings }));
    expect(read({})).to.equal(undefined);
    expect(read({ MESSENGER_URL: 'wss://messenger.example.com/ws' })).to.equal(undefined);
    const root = { MESSENGER_TRUST: `root:${'ab'.repeat(32)}` };
    expect(read({ ...root, MESSENGER_URL: 'ws://127.0.0.1:4001/ws/chat' })).to.equal('http://127.0.0.1:4001');
    expect(() => read(root)).to.throw('MESSENGER_TRUST');
  });
});
