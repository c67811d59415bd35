import { makeAttemptId } from '@gateway/contracts/ids';
import { requestLink } from '@gateway/store/devices/device-state';
import { expect } from 'chai';
import { linkDevice, ownDevice } from '../../../api/test/support/device-owner.js';
import { BUILT_PAGE, useBrowser } from '../support/browser-page.js';
import { useTestDashboard } from '../support/test-dashboard.js';

const HOUR_MS = 3_600_000;

describe('the page of the console, when things fail', () => {
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE });
  const browser = useBrowser();
  before(async () => void (await linkDevice(stage.space.store, { workspace: 'main', device: 'shop' })));

  it('keeps what it shows while the feed is lost, says so, and makes up for it', async () => {
    const page = await browser.open(stage.dashboard, '/devices');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.context().setOffline(true);
    await page.getByText('Connecting', { exact: true }).waitFor();
    await page.getByText('shop').waitFor();
    await linkDevice(stage.space.store, { workspace: 'main', device: 'made-meanwhile' });
    await page.context().setOffline(false);
    await page.getByText('made-meanwhile').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
    browser.allowErrors(/ERR_INTERNET_DISCONNECTED/);
  });

  it('keeps what the feed has told when the answer to an earlier request arrives after it', async () => {
    const address = { workspace: 'main', device: 'slow' };
    const owner = await linkDevice(stage.space.store, address);
    const page = await browser.open(stage.dashboard, '/settings');
    const heading = page.getByRole('heading', { name: 'Connecting' });
    await page.route('**/console/api/devices/slow', async (route) => {
      const answer = await route.fetch();
      await owner.observe({ status: 'connecting' });
      await heading.waitFor();
      await route.fulfill({ response: answer });
    });
    const answered = page.waitForResponse('**/console/api/devices/slow');
    await page.goto(`${stage.dashboard.origin}/console/devices/slow`);
    await (await answered).finished();
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    expect(await heading.count()).to.equal(1);
  });

  it('has no feed in a tab that was hidden for 30 s, and makes up for it when it is looked at', async () => {
    const page = await browser.open(stage.dashboard, '/devices');
    await page.getByText('Live', { exact: true }).waitFor();
    await page.clock.install();
    const look = (isAway: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { get: () => ${isAway}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`);
    const paused = page.getByText('Paused', { exact: true });
    await look(true);
    await page.clock.runFor(29_000);
    expect(await paused.count()).to.equal(0);
    await page.clock.runFor(1_000);
    await paused.waitFor();
    await linkDevice(stage.space.store, { workspace: 'main', device: 'made-unseen' });
    await look(false);
    await page.clock.runFor(100);
    await page.getByText('made-unseen').waitFor();
    await page.getByText('Live', { exact: true }).waitFor();
  });

  it('shows no code past its end: it is blurred until the next one is here', async () => {
    const address = { workspace: 'main', device: 'linking' };
    const owner = await ownDevice(stage.space.store, address);
    await requestLink(stage.space.store, address, { attemptId: makeAttemptId(), method: 'qrCode', forceNew: false });
    const show = (code: string, ms: number) =>
      owner.observe({ status: 'connecting', reason: 'linking', code, codeExpiresAtMs: Date.now() + ms });
    await show('first', 4_000);
    const page = await browser.open(stage.dashboard, '/devices/linking');
    await page.locator('svg[data-code=first]').waitFor();
    await page.locator('[data-dead] svg[data-code=first]').waitFor();
    await page.getByRole('timer').getByText('Waiting for the next code').waitFor();
    await show('second', 60_000);
    await page.locator(':not([data-dead]) > svg[data-code=second]').waitFor();
    await page.getByText(/Valid for \d+ seconds/).waitFor();
  });

  it('asks for no first account while no sender runs, where one was linked', async () => {
    const address = { workspace: 'main', device: 'away' };
    const owner = await linkDevice(stage.space.store, address);
    const page = await browser.open(stage.dashboard, '/devices/away');
    await page.getByRole('link', { name: 'New message' }).waitFor();
    await owner.release();
    await page.getByRole('heading', { name: 'Connecting' }).waitFor();
    await page.goto(`${stage.dashboard.origin}/console/overview`);
    const step = page.getByRole('img', { name: 'done' });
    await step.waitFor();
  });

  it('says what the API refused, as a sentence with the id of the request', async () => {
    const page = await browser.open(stage.dashboard, '/devices/new-one');
    await page.getByRole('button', { name: 'Show the QR code' }).click();
    await page.getByText('The API does not answer.').waitFor();
    await page.getByText(/^Request req_/).waitFor();
    browser.allowErrors(/503/);
  });

  it('says that a link was used, and lets sign in with a password', async () => {
    const page = await browser.open(stage.dashboard, '/sign-in#link=used-before', { role: 'none' });
    await page.getByText('This link was used already').waitFor();
    expect(new URL(page.url()).hash).to.equal('');
    await page.getByLabel('Name').fill('admin');
    await page.getByRole('textbox', { name: 'Password' }).fill('not the password');
    await page.keyboard.press('Enter');
    await page.getByText('That name and password do not match.').waitFor();
    browser.allowErrors(/401/);
  });

  it('can be used with the keyboard alone', async () => {
    const page = await browser.open(stage.dashboard, '/devices');
    await page.getByText('shop').waitFor();
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    const tabTo = async (text: string) => {
      for (let presses = 0; presses < 20; presses++) {
        await page.keyboard.press('Tab');
        if ((await focused()) === text) return;
      }
      throw new Error(`${text} is not reached by Tab`);
    };
    await page.keyboard.press('Tab');
    expect(await focused()).to.equal('Skip to the page');
    await tabTo('shop');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'shop' }).waitFor();
    await tabTo('Disconnect');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    expect(await focused()).to.equal('Cancel');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    expect(await focused()).to.equal('Disconnect');
  });

  for (const [what, aheadMs] of [
    ['ahead', 3 * HOUR_MS],
    ['behind', -3 * HOUR_MS],
  ] as const) {
    it(`goes by the clock of the console where that of the browser is hours ${what}`, async () => {
      const device = `clock-${what}`;
      const address = { workspace: 'main', device };
      const owner = await ownDevice(stage.space.store, address);
      await requestLink(stage.space.store, address, { attemptId: makeAttemptId(), method: 'qrCode', forceNew: false });
      const show = (code: string, ms: number) =>
        owner.observe({ status: 'connecting', reason: 'linking', code, codeExpiresAtMs: Date.now() + ms });
      await show('first', 60_000);
      const page = await browser.open(stage.dashboard, '/sign-in');
      await page.clock.setSystemTime(Date.now() + aheadMs);
      await page.goto(`${stage.dashboard.origin}/console/devices/${device}`);
      await page.locator(':not([data-dead]) > svg[data-code=first]').waitFor();
      await page.getByText(/Valid for [2-6]\d seconds/).waitFor();
      await page
        .getByText(/^(\d+ seconds? ago|now|in 1 second)/)
        .first()
        .waitFor();
      await show('second', 2_000);
      await page.locator('[data-dead] svg[data-code=second]').waitFor();
    });
  }
});
