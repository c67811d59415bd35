import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { endSessionsOf } from '@gateway/store/console/sessions';
import { createUser, setPassword } from '@gateway/store/console/users';
import { expect } from 'chai';
import { BUILT_PAGE, findBarriers, useBrowser } from '../support/browser-page.js';
import { fillConsole } from '../support/fill-console.js';
import { inspectPages } from '../support/inspect-pages.js';
import { useTestDashboard } from '../support/test-dashboard.js';

const PASSWORD = 'a password of fourteen words';

describe('every page of the console', () => {
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE, api: {} });
  const browser = useBrowser();
  before(() => fillConsole(stage.space.store));

  it('has no barrier that axe finds, and fits: in Arabic and dark, on a phone', async () => {
    const page = await browser.open(stage.dashboard, '/devices', { language: 'ar' });
    expect(await inspectPages(page, stage.dashboard, [{ scheme: 'dark', width: 320 }])).to.deep.equal({});
    expect(await page.evaluate('document.documentElement.dir')).to.equal('rtl');
    // That it finds what there is.
    await page.evaluate("document.body.append(document.createElement('img'))");
    expect((await findBarriers(page, { asPage: true })).join()).to.include('image-alt');
  });

  it('weighs at most 300 kB from the sign-in to the first page, fonts and all, 325 in Arabic', async () => {
    const BYTES = "performance.getEntriesByType('resource').reduce((sum, each) => sum + each.encodedBodySize, 0)";
    for (const [language, most] of [
      ['en', 300_000],
      ['ar', 325_000],
    ] as const) {
      const secret = await createOneTimeLink(stage.dashboard.store, 'admin');
      const page = await browser.open(stage.dashboard, `/sign-in#link=${secret}`, { language, role: 'none' });
      await page.locator('dl').waitFor();
      expect(await page.evaluate<number>(BYTES), language).to.be.within(100_000, most);
    }
  });

  it('shows what names say, and runs none of it', async () => {
    const page = await browser.open(stage.dashboard, '/devices');
    await page.getByText('<img src=x onerror=alert(1)>').waitFor();
    expect(await page.locator('img[src="x"]').count()).to.equal(0);
    // A sign that turns text round ends with the name that it is in.
    expect(await page.locator('bdi', { hasText: 'onerror' }).count()).to.equal(1);
  });

  it('leads to the sign-in when the session has ended, and back', async () => {
    const page = await browser.open(stage.dashboard, '/devices/hostile');
    await page.getByText('+447700900123').waitFor();
    await endSessionsOf(stage.dashboard.store, 'admin');
    await page.reload();
    await page.getByRole('textbox', { name: 'Name' }).waitFor();
    expect(new URL(page.url()).search).to.equal('?next=%2Fdevices%2Fhostile');
    expect(await page.content()).not.to.include('447700900123');
  });

  it('leads back to what one was looking for, its filters too', async () => {
    await createUser(stage.dashboard.store, 'nina', 'operator');
    await setPassword(stage.dashboard.store, 'nina', PASSWORD);
    const page = await browser.open(stage.dashboard, '/messages?status=failed&device=hostile', { role: 'none' });
    await page.getByLabel('Name').fill('nina');
    await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor();
    expect(await page.getByLabel('State').inputValue()).to.equal('failed');
    expect(new URL(page.url()).search).to.equal('?status=failed&device=hostile');
    browser.allowErrors(/401/);
  });

  it('shows viewers masked numbers, and nothing that they may not do', async () => {
    const page = await browser.open(stage.dashboard, '/devices/hostile', { role: 'viewer' });
    await page.getByText('+447***23').waitFor();
    expect(await page.getByRole('button', { name: 'Disconnect' }).count()).to.equal(0);
    expect(await page.getByRole('link', { name: 'API', exact: true }).count()).to.equal(0);
  });
});
