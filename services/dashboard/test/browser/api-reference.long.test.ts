import { listSends } from '@gateway/store/sends/listing/list-sends';
import { expect } from 'chai';
import { linkDevice } from '../../../api/test/support/device-owner.js';
import { BUILT_PAGE, useBrowser } from '../support/browser-page.js';
import { useTestDashboard } from '../support/test-dashboard.js';

describe('the reference of the API', () => {
  const browser = useBrowser();
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE, api: {} });
  before(() => linkDevice(stage.space.store));

  it('tries the API out with a token that was just made, and asks nothing of anyone else', async () => {
    const page = await browser.open(stage.dashboard, '/settings/api');
    await page.getByRole('button', { name: 'Create token' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('reference');
    await page.getByRole('dialog').getByRole('button', { name: 'Create token' }).click();
    const link = page.getByRole('link', { name: 'Try it in the API reference' });
    const token = (await link.getAttribute('href'))!.split('#token=')[1]!;

    const asked: string[] = [];
    const wrong: string[] = [];
    page.context().on('request', (request) => asked.push(request.url()));
    const [reference] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
    reference.on('console', (message) => {
      if (message.type() === 'error') wrong.push(message.text());
    });
    const tryOut = async (title: string, request: RegExp, path: string) => {
      await reference.getByText(title).first().click();
      await reference.getByRole('button', { name: request }).click();
      const answered = reference.waitForResponse((response) => response.url().endsWith(path));
      await reference
        .getByRole('button', { name: /^Send\b/ })
        .first()
        .click();
      const answer = await answered;
      expect(answer.request().headers().authorization).to.equal(`Bearer ${token}`);
      // Shown: before that, to close is to cancel.
      await reference.getByText(`${answer.status()} ${answer.statusText()}`).first().waitFor();
      await reference.keyboard.press('Escape');
      return answer;
    };
    const status = await tryOut('Show the connection status', /Test Request.*get \/status/s, '/status');
    expect(status.status()).to.equal(200);
    const send = await tryOut('Send a message to one recipient', /Test Request.*post \/send/s, '/send');
    expect(send.status()).to.equal(202);
    const { sends } = await listSends(stage.space.store, 'main', { limit: 2 });
    expect(sends.map(({ send }) => send.messageId)).to.deep.equal([(await send.json()).messageId]);
    expect(reference.url()).not.to.include(token);
    expect(wrong).to.deep.equal([]);
    const foreign = asked.filter((url) => !url.startsWith(stage.api.origin) && !url.startsWith(stage.dashboard.origin));
    expect(foreign.filter((url) => !url.startsWith('data:'))).to.deep.equal([]);
    expect(asked.join()).not.to.include(token);
    // The console has seen it.
    await page.getByText('It works: the first request has arrived.').waitFor();
  });

  it('speaks Arabic to those who came from an Arabic console, from the right, and keeps that', async () => {
    const page = await browser.open(stage.dashboard, '/settings/api', { language: 'ar' });
    const link = page.locator('a[href*="/docs?language=ar"]').first();
    const [reference] = await Promise.all([page.context().waitForEvent('page'), link.click()]);
    const search = reference.getByRole('button', { name: 'بحث' }).first();
    await search.waitFor();
    await reference.reload();
    await search.waitFor();
    expect(await reference.evaluate('document.documentElement.lang')).to.equal('ar');
    const { x } = (await search.boundingBox())!;
    expect(x, 'the list of endpoints is at the right').to.be.above(600);
  });
});
