import { readDefaultDevice } from '@gateway/store/devices/choosing/default-device';
import { readDevice } from '@gateway/store/devices/devices';
import { recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { expect } from 'chai';
import { type DeviceOwner, linkDevice } from '../../../api/test/support/device-owner.js';
import { BUILT_PAGE, useBrowser } from '../support/browser-page.js';
import { makeSend } from '../support/make-send.js';
import { useTestDashboard } from '../support/test-dashboard.js';

const HOUR_MS = 3_600_000;
const SHOP = { workspace: 'main', device: 'shop' };

describe('the page of a device', () => {
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE, pacePerMinute: 20 });
  const browser = useBrowser();
  let owner: DeviceOwner;
  before(async () => {
    owner = await linkDevice(stage.space.store, SHOP);
    await makeSend(stage.space.store, owner, { count: 500, text: 'hello' });
  });

  it('renames it, gives it a pace, and makes it the default', async () => {
    const { store } = stage.space;
    const page = await browser.open(stage.dashboard, '/devices/shop', { role: 'operator' });
    const more = page.getByRole('button', { name: 'More to do with this device' });
    // At 20 a minute, with 200 that wait.
    await page.getByText('All out in 10 minutes').waitFor();
    await more.click();
    await page.getByRole('menuitem', { name: 'Rename' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('<b>Corner shop</b> \u202Egnp');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: '<b>Corner shop</b>' }).waitFor();
    expect(await page.locator('h1 bdi').innerText()).to.equal('<b>Corner shop</b> \u202Egnp');

    await more.click();
    await page.getByRole('menuitem', { name: 'Pace' }).click();
    await page.getByText('Its own', { exact: true }).click();
    const rate = page.getByRole('textbox', { name: 'Messages a minute' });
    await rate.fill('0');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('A whole number from 1 to 100,000.').waitFor();
    await rate.fill('2');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('2 messages a minute').waitFor();
    await page.getByText('All out in 2 hours').waitFor();
    expect((await readDevice(store, SHOP))?.pace).to.deep.equal({ messagesPerMinute: 2, burst: 1, jitter: 0.3 });

    await more.click();
    await page.getByRole('menuitem', { name: 'Make it the default' }).click();
    await page.getByText('Programs without a device of their own').waitFor();
    await page.getByText('default', { exact: true }).waitFor();
    expect(await readDefaultDevice(store, 'main')).to.equal('shop');
  });

  it('counts a restriction down, and has what the device went through', async () => {
    const { store } = stage.space;
    const untilMs = Date.now() + 2 * HOUR_MS;
    const restriction = { kind: 'reach_out_time_lock', sinceMs: Date.now(), untilMs } as const;
    await recordRestriction(store, owner.ownership, restriction, []);
    for (let round = 0; round < 60; round++) {
      await owner.observe({ status: 'connecting', reason: 'network' });
      await owner.observe({ status: 'connected', phone: '447700900123', name: 'Ada' });
    }
    const page = await browser.open(stage.dashboard, '/devices/shop', { role: 'viewer' });
    const timer = page.getByRole('timer');
    const first = await timer.innerText();
    expect(first).to.match(/^(2:00:00|1:59:\d\d)$/);
    await page.locator('[role=timer]', { hasNotText: first }).waitFor();
    expect(await page.getByRole('button', { name: 'More to do with this device' }).count()).to.equal(0);
    await page.getByRole('listitem').nth(4).waitFor();
    expect(await page.getByRole('listitem').count()).to.equal(5);
    await page.getByRole('link', { name: 'All changes' }).click();
    await page.getByRole('heading', { name: 'History' }).waitFor();
    await page.getByRole('listitem').nth(99).waitFor();
    expect(await page.getByRole('listitem').count()).to.equal(100);
    await page.getByRole('button', { name: 'Show more' }).click();
    await page.getByRole('listitem').nth(120).waitFor();
    // What happens meanwhile comes by itself.
    await owner.observe({ status: 'connecting', reason: 'restart' });
    await page.getByText('The network asked for a restart of the connection.').waitFor();
  });

  it('is removed when nothing needs it any more, and says what does', async () => {
    const { store } = stage.space;
    const gone = await linkDevice(store, { workspace: 'main', device: 'gone' });
    await makeSend(store, gone, { count: 3, text: 'hello' });
    await gone.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
    const page = await browser.open(stage.dashboard, '/devices/gone', { role: 'operator' });
    const remove = async () => {
      await page.getByRole('button', { name: 'More to do with this device' }).click();
      await page.getByRole('menuitem', { name: 'Remove' }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    };
    await remove();
    await page.getByText('Messages still wait on this device.').waitFor();
    await page.getByText(/^Request req_/).waitFor();
    browser.allowErrors(/409/);
    const fresh = await linkDevice(store, { workspace: 'main', device: 'fresh' });
    await fresh.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
    await page.goto(`${stage.dashboard.origin}/console/devices/fresh`);
    await remove();
    await page.waitForURL(/\/console\/devices$/);
    await page.getByRole('link', { name: 'gone' }).waitFor();
    expect(await page.getByRole('link', { name: 'fresh' }).count()).to.equal(0);
  });
});
