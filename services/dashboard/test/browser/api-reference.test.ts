import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from '../../../api/test/support/device-owner.js';
import { startTestApi, type TestApi } from '../../../api/test/support/test-api.js';
import { BUILT_PAGE, useBrowser } from '../support/browser-page.js';
import { startTestDashboard, type TestDashboard } from '../support/test-dashboard.js';

describe('the reference of the API', () => {
  const browser = useBrowser();
  let space: RedisSpace;
  let api: TestApi;
  let dashboard: TestDashboard;
  before(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space);
    dashboard = await startTestDashboard(space, { apiUrl: api.origin, pageFolder: BUILT_PAGE });
    await linkDevice(space.store, { workspace: 'main', device: 'default' });
  });
  after(async () => {
    await dashboard.close();
    await api.close();
    await space.close();
  });

  it('tries the API out with a token that was just made, and asks nothing of anyone else', async () => {
    const page = await browser.open(dashboard, '/settings/api');
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
    await reference.getByText('Show the connection status').first().click();
    await reference.getByRole('button', { name: /Test Request.*get \/status/s }).click();
    const answered = reference.waitForResponse((response) => response.url().endsWith('/status'));
    await reference
      .getByRole('button', { name: /^Send\b/ })
      .first()
      .click();
    expect((await answered).status()).to.equal(200);
    expect((await answered).request().headers().authorization).to.equal(`Bearer ${token}`);
    expect(reference.url()).not.to.include(token);
    expect(wrong).to.deep.equal([]);
    const foreign = asked.filter((url) => !url.startsWith(api.origin) && !url.startsWith(dashboard.origin));
    expect(foreign.filter((url) => !url.startsWith('data:'))).to.deep.equal([]);
    expect(asked.join()).not.to.include(token);
    // The console has seen it.
    await page.getByText('It works: the first request has arrived.').waitFor();
  });
});
