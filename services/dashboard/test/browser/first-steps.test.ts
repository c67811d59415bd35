import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { scanCodes } from '@gateway/testkit/scan-codes';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';
import { BUILT_PAGE, useBrowser } from '../support/browser-page.js';
import { startTestDashboard, type TestDashboard } from '../support/test-dashboard.js';

const execute = promisify(execFile);
const ACCOUNT = '447700900700';

describe('the first steps in the console', function () {
  this.timeout(40_000);
  const fixture = useGateway({ inOneProcess: true });
  const browser = useBrowser();
  let dashboard: TestDashboard;
  before(async () => {
    const apiUrl = new URL(fixture.gateway.baseUrl).origin;
    dashboard = await startTestDashboard(fixture.space, {
      ...{ apiUrl, pageFolder: BUILT_PAGE, simulatorUrl: fixture.simulator.adminUrl },
    });
  });
  after(() => dashboard.close());

  it('by a link, a scan and a token to the first request, in eight clicks and one field', async () => {
    const page = await browser.open(dashboard, '/sign-in', { role: 'nobody' });
    const secret = await createOneTimeLink(dashboard.store, 'admin');
    // A new address after the `#` alone loads no page.
    await page.goto('about:blank');
    await page.goto(`${dashboard.origin}/console/sign-in#link=${secret}`);
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(await page.evaluate('location.href')).not.to.include(secret);

    await page.getByRole('link', { name: 'Link an account' }).click();
    await page.getByRole('button', { name: 'Show the QR code' }).click();
    const shown = page.locator('svg[data-code]');
    const nextCode = async (before: string) => {
      await page.locator(`svg[data-code]:not([data-code="${before}"])`).waitFor();
      return (await shown.getAttribute('data-code'))!;
    };
    // The network wants two scans: the code on the screen is the new one by itself.
    await scanCodes(
      { adminUrl: fixture.simulator.adminUrl, number: ACCOUNT, nextCode },
      (await shown.getAttribute('data-code'))!,
    );
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByText(`+${ACCOUNT}`).waitFor();
    expect(await shown.count()).to.equal(0);

    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('button', { name: 'Create token' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('web shop');
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click();
    await page.getByText('Waiting for the first request').waitFor();
    const line = await page.getByRole('group', { name: 'Line for a terminal' }).innerText();
    const { stdout } = await execute('sh', ['-c', `${line} --silent`]);
    expect(JSON.parse(stdout)).to.include({ status: 'connected', phone: ACCOUNT });
    await page.getByText('It works: the first request has arrived.').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();

    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const [, value] = /Bearer (\S+?)"/.exec(line)!;
    expect(await page.content()).not.to.include(value!.split('_')[2]);
    await page.getByRole('button', { name: 'Revoke: web shop' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Revoked', { exact: true }).waitFor();
  });

  it('links by a code that is typed into the phone, and disconnects', async () => {
    const page = await browser.open(dashboard, '/devices/typed');
    await page.getByText('Code to type').click();
    await page.getByLabel('Number of the account').fill('+44 7700 900-701');
    await page.getByRole('button', { name: 'Show the code' }).click();
    const shown = page.locator('[data-code]');
    await shown.waitFor();
    const code = await shown.getAttribute('data-code');
    expect(await shown.innerText()).to.equal(`${code!.slice(0, 4)}-${code!.slice(4)}`);
    await fixture.admin('POST', '/admin/mock-phone/enter-code', { number: '447700900701', code });
    await page.getByText('Connected', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
    await page.getByText('The account was disconnected on request.').waitFor();
  });

  it('on a simulated network a simulated phone scans or types, and the page says what network it is', async () => {
    const page = await browser.open(dashboard, '/devices/by-phone');
    await page.getByText('This is a simulated network').waitFor();
    await page.getByRole('button', { name: 'Show the QR code' }).click();
    await page.getByRole('button', { name: 'Scan with a simulated phone' }).click();
    await page.getByText('Connected', { exact: true }).waitFor({ timeout: 20_000 });

    const typed = await browser.open(dashboard, '/devices/by-typing-phone');
    await typed.getByText('Code to type').click();
    await typed.getByLabel('Number of the account').fill('447700900702');
    await typed.getByRole('button', { name: 'Show the code' }).click();
    await typed.getByRole('button', { name: 'Enter the code on a simulated phone' }).click();
    await typed.getByText('Connected', { exact: true }).waitFor({ timeout: 20_000 });
    await typed.getByText('+447700900702').waitFor();
  });
});
