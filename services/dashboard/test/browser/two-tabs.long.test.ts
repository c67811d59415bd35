import { listSends } from '@gateway/store/sends/listing/list-sends';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { type RedisProxy, startRedisProxy } from '@gateway/testkit/redis-proxy';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { type DeviceOwner, linkDevice } from '../../../api/test/support/device-owner.js';
import { BUILT_PAGE, useBrowser } from '../support/browser-page.js';
import { makeSend } from '../support/make-send.js';
import { startTestDashboard, type TestDashboard } from '../support/test-dashboard.js';

const FORMULAS = ['=HYPERLINK("https://evil.example")', '+1', '-1', '@SUM(1)', '\t=1', '\r=1'];

describe('the page of the console beside another tab, without Redis, and with what strangers write', () => {
  const browser = useBrowser();
  let space: RedisSpace;
  let proxy: RedisProxy;
  let dashboard: TestDashboard;
  let owner: DeviceOwner;
  before(async () => {
    space = await openRedisSpace();
    proxy = await startRedisProxy(space.url);
    dashboard = await startTestDashboard(space, { redisUrl: proxy.url, pageFolder: BUILT_PAGE, beatMs: 200 });
    owner = await linkDevice(space.store, { workspace: 'main', device: 'shop' });
    await makeSend(space.store, owner, { count: 8, text: 'hello' });
  });
  after(async () => {
    await dashboard.close();
    proxy.close();
    await space.close();
  });

  it('a second tab shows the same, and leaves with the first', async () => {
    const first = await browser.open(dashboard, '/devices');
    const second = await first.context().newPage();
    await second.goto(`${dashboard.origin}/console/devices/shop`);
    for (const status of ['Connecting', 'Connected'] as const) {
      const isUp = status === 'Connected';
      await owner.observe(isUp ? { status: 'connected', phone: '447700900123', name: 'A' } : { status: 'connecting' });
      await first.getByRole('row', { name: 'shop' }).getByText(status, { exact: true }).waitFor();
      await second.getByRole('heading', { name: status }).waitFor();
    }
    await first.getByRole('button', { name: /^Menu of/ }).click();
    await first.getByRole('menuitem', { name: 'Sign out', exact: true }).click();
    await second.waitForURL(/sign-in\?next=%2Fdevices%2Fshop$/);
    expect(await second.content()).not.to.include('447700900123');
    browser.allowErrors(/401/);
  });

  it('keeps what it shows while Redis is away, says so, and goes on by itself', async () => {
    const page = await browser.open(dashboard, '/devices/shop');
    await page.getByText('Live', { exact: true }).waitFor();
    proxy.cut();
    await page.getByText('Not up to date').waitFor();
    await page.getByText('+447700900123').waitFor();
    // What is asked for now says why there is none.
    await page.getByRole('button', { name: 'Disconnect' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Disconnect' }).click();
    await dialog.getByRole('alert').getByText('The service cannot do this just now.').waitFor();
    await page
      .getByText(/^Request req_/)
      .first()
      .waitFor();
    proxy.restore();
    await page.getByText('Live', { exact: true }).waitFor();
    await owner.observe({ status: 'connecting', reason: 'restart' });
    await page.getByText('The network asked for a restart of the connection.').first().waitFor();
    browser.allowErrors(/503/);
  });

  it('takes no name for markup or a direction, and no cell of a file for a formula', async () => {
    const name = '=HYPERLINK("https://evil.example")<img src=x onerror=alert(1)>\u202Egnp';
    await createApiToken(space.store, 'main', { name, device: 'shop' });
    const page = await browser.open(dashboard, '/settings/api');
    const shown = page.locator('bdi', { hasText: 'HYPERLINK' });
    expect(await shown.innerText()).to.equal(name);
    expect(await page.evaluate("getComputedStyle(document.querySelector('td bdi')).unicodeBidi")).to.equal('isolate');
    expect(await page.locator('main a[href*=evil], main img[src=x]').count()).to.equal(0);

    const { messageId } = (await listSends(space.store, 'main', { limit: 1 })).sends[0]!.send;
    // No number of ours begins like this: as if one did.
    await page.route('**/recipients?at=*', (route) =>
      route.fulfill({
        json: { recipients: FORMULAS.map((to, index) => ({ index, to, status: 'sent', atMs: 0 })) },
      }),
    );
    await page.goto(`${dashboard.origin}/console/messages/${messageId}`);
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const csv = Buffer.concat((await (await (await download).createReadStream()).toArray()) as Buffer[]).toString();
    for (const formula of FORMULAS) expect(csv).to.include(`'${formula.replaceAll('"', '""')}`);
    expect(csv).not.to.match(/(^|[\n,"])[=+\-@\t]/);
  });
});
