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
/** What a person does on the page. */
const COUNT_WORK = `[window.clicks, window.fields] = [0, new Set()];
  addEventListener('click', ({ isTrusted }) => { if (isTrusted) window.clicks++; }, true);
  addEventListener('input', ({ target }) => window.fields.add(target), true);`;

describe('the first steps in the console', () => {
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

  it('begin with an account: without one there is nothing to write a message with', async () => {
    const page = await browser.open(dashboard, '/messages/new', { role: 'operator' });
    await page.getByRole('link', { name: 'Link an account' }).click();
    await page.getByRole('button', { name: 'Show the QR code' }).waitFor();
  });

  it('lead by a link, a scan and a token to the first message that is read, in eight clicks and two fields', async () => {
    const page = await browser.open(dashboard, '/sign-in', { role: 'none' });
    const secret = await createOneTimeLink(dashboard.store, 'admin');
    await page.addInitScript(COUNT_WORK);
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
    await page.getByRole('heading', { name: 'Connected' }).waitFor();
    await page.getByText(`+${ACCOUNT}`).waitFor();
    expect(await shown.count()).to.equal(0);
    // The picture of the account comes from the console.
    const picture = page.locator('h1 img');
    await picture.waitFor();
    expect(await picture.getAttribute('src')).to.match(/^\/console\/api\/devices\/default\/picture\?v=/);
    const WIDTH = "document.querySelector('h1 img').decode().then(() => document.querySelector('h1 img').naturalWidth)";
    expect(await page.evaluate<number>(WIDTH)).to.be.above(0);

    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('button', { name: 'Create token' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click();
    await page.getByText('Waiting for the first request').waitFor();
    const line = await page.getByRole('group', { name: 'Line for a terminal' }).innerText();
    const { stdout } = await execute('sh', ['-c', `${line} --silent`]);
    expect(JSON.parse(stdout)).to.include({ status: 'connected', phone: ACCOUNT });
    await page.getByText('It works: the first request has arrived.').waitFor();

    await page.getByRole('link', { name: 'Send a message from here' }).click();
    await page.getByLabel('Recipients').fill('+44 7700 900799');
    await page.getByLabel('Text', { exact: true }).fill('Hello, Ann!');
    await page.getByRole('button', { name: 'Send to 1 person' }).click();
    await page.getByRole('table').getByText('Read', { exact: true }).waitFor();
    const phone = page.getByRole('region', { name: 'The phone of this recipient' });
    await phone.getByText('Hello, Ann!').waitFor();
    await phone.getByText('+447700900799').waitFor();
    // The eighth is the one that has a simulated phone scan.
    expect(await page.evaluate('[window.clicks, window.fields.size]')).to.deep.equal([7, 2]);

    const [, value] = /Bearer (\S+?)"/.exec(line)!;
    expect(await page.content()).not.to.include(value!.split('_')[2]);
    await page.getByRole('link', { name: 'API', exact: true }).click();
    await page.getByRole('button', { name: 'Revoke: My first program' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('Revoked', { exact: true }).waitFor();
    const refused = await execute('sh', ['-c', `${line} --silent`]);
    expect(JSON.parse(refused.stdout)).to.include({ success: false });
  });

  it('show what arrived on a simulated phone, but no one-time password, and nothing to viewers', async () => {
    const [operator, viewer] = [await dashboard.signIn('operator'), await dashboard.signIn('viewer')];
    const { body } = await fixture.gateway.call('POST', '/otp', { body: { phone: '447700900799', code: '482913' } });
    const look = (who: typeof operator, at = 0) => who.get(`/messages/${body.data.messageId}/phone?at=${at}`);
    const { phone } = (await look(operator)).body;
    expect([phone.to, phone.messages.length, phone.messages[0].text]).to.deep.equal(['447700900799', 1, undefined]);
    const refused = [await look(viewer), await look(operator, 1), await operator.get('/messages/msg_x/phone?at=0')];
    expect(refused.map(({ status }) => status)).to.deep.equal([403, 404, 404]);
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
    await page.getByRole('heading', { name: 'Connected' }).waitFor();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
    await page.getByText('The account was disconnected on request.').first().waitFor();
  });

  it('on a simulated network a simulated phone scans or types, and the page says what network it is', async () => {
    const page = await browser.open(dashboard, '/devices/by-phone', { width: 360 });
    await page.evaluate(COUNT_WORK);
    await page.getByText('This is a simulated network').waitFor();
    await page.getByRole('button', { name: 'Show the QR code' }).click();
    await page.getByRole('button', { name: 'Scan with a simulated phone' }).click();
    await page.getByRole('heading', { name: 'Connected' }).waitFor();
    // From there to the first token without the menu.
    await page.getByRole('link', { name: 'Create an API token' }).click();
    await page.waitForURL(/settings\/api$/);
    expect(await page.evaluate('window.clicks')).to.equal(3);

    const typed = await browser.open(dashboard, '/devices/by-typing-phone');
    await typed.getByText('Code to type').click();
    await typed.getByLabel('Number of the account').fill('447700900702');
    await typed.getByRole('button', { name: 'Show the code' }).click();
    await typed.getByRole('button', { name: 'Enter the code on a simulated phone' }).click();
    await typed.getByRole('heading', { name: 'Connected' }).waitFor();
    await typed.getByText('+447700900702').waitFor();
  });
});
