import { Writable } from 'node:stream';
import { createLogger } from '@gateway/runtime/logs/logger';
import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from '../../api/test/support/device-owner.js';
import { Browser, startTestDashboard, type TestDashboard } from './support/test-dashboard.js';

describe('the logs of the console', () => {
  let space: RedisSpace;
  let dashboard: TestDashboard;
  let output = '';
  before(async () => {
    const destination = new Writable({
      write: (chunk, _encoding, done) => {
        output += String(chunk);
        done();
      },
    });
    space = await openRedisSpace();
    const logger = createLogger({ service: 'dashboard', level: 'debug', destination });
    dashboard = await startTestDashboard(space, { logger });
  });
  after(async () => {
    await dashboard.close();
    await space.close();
  });

  it('name who did what, and hold no password, link, cookie, token, code or number', async () => {
    const owner = await linkDevice(space.store, { workspace: 'main', device: 'shop' });
    await owner.observe({ status: 'connecting', code: '98765-code', codeExpiresAtMs: Date.now() + 20_000 });
    const secret = await createOneTimeLink(space.store, 'admin');
    const browser = new Browser(dashboard.port);
    await browser.post('/sign-in/link', { secret });
    const first = browser.cookie!;
    await browser.post('/sign-in/link', { secret: 'a-guess-at-a-link' });
    await browser.post('/sign-in', { name: 'unreal-name', password: 'a guess at a password' });
    await browser.post('/me/password', { password: 'the password of admin' });
    const { body } = await browser.post('/tokens', { name: 'shop' });
    // The API is away: a failure, which logs more than others.
    await browser.post('/devices/shop/connect', { method: 'pairingCode', phoneNumber: '+44 7700 900 987' });
    const message = { to: '447700900986', text: 'the words of a message' };
    await browser.post('/messages', { device: 'shop', key: 'k', message });
    await browser.post('/messages/find', { phone: '447700900985' });
    await browser.post('/opt-outs', { phones: ['447700900984'] });
    await browser.post('/devices/shop/name', { name: 'shop of +447700900983' });
    await browser.get('/devices/shop');
    await browser.send('POST', '/console/api/tokens', {
      headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' },
    });

    expect(output)
      .to.include('console request answered')
      .and.include('"route":"/tokens"')
      .and.include('"user":"admin"');
    const secrets = [
      ...[secret, 'a-guess-at-a-link', 'a guess at a password', 'the password of admin', 'unreal-name', '900 987'],
      ...['the words of a message', '4770090098', '98765-code'],
      ...[body.value.split('_')[2], '7700900987', '447700900123'],
      ...[first, browser.cookie!].map((cookie) => decodeURIComponent(cookie.split('=')[1]!).slice(2, 30)),
    ];
    for (const each of secrets) expect(output).not.to.include(each);
  });
});

describe('what strangers send to the console', () => {
  let space: RedisSpace;
  let dashboard: TestDashboard;
  before(async () => {
    space = await openRedisSpace();
    dashboard = await startTestDashboard(space);
  });
  after(async () => {
    await dashboard.close();
    await space.close();
  });

  it('is refused in one shape, and says nothing of our insides', async () => {
    const browser = await dashboard.signIn();
    const json = { 'sec-fetch-site': 'same-origin', 'content-type': 'application/json' };
    const raw = (path: string, text: string) =>
      browser.send('POST', path, {
        raw: text,
        headers: { ...json, 'content-length': String(Buffer.byteLength(text)) },
      });
    const answers = [
      await raw('/console/api/tokens', '{"name": '),
      await raw('/console/api/tokens', '"a text"'),
      await raw('/console/api/tokens', JSON.stringify({ name: 'x'.repeat(70_000) })),
      await raw('/console/api/tokens', '{"__proto__": {"role": "admin"}, "name": "x", "constructor": 1}'),
      await raw('/console/api/sign-in', JSON.stringify({ name: { $ne: 1 }, password: ['x'] })),
      await browser.get('//console/assets/..%2findex.html'),
      await browser.get('//console/assets/%2e%2e/%2e%2e/package.json'),
      await browser.get('//console/api/devices/..%2f..%2ftokens'),
      await browser.get('//console/api/devices/%00'),
      await browser.get('//console/api/%E0%A4%A'),
      await browser.get('//other'),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([400, 400, 400, 400, 400, 404, 404, 404, 404, 404, 404]);
    for (const { text, body } of answers) {
      expect(text).not.to.match(/node_modules|at \w+ \(|\.ts:|\.js:/);
      expect(body, text).to.include({ success: false });
      expect(body.requestId).to.match(/^req_/);
    }
  });
});
