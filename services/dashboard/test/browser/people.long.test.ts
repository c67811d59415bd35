import { addOptOuts, findOptOut } from '@gateway/store/workspace/opt-outs';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { startTestApi, type TestApi } from '../../../api/test/support/test-api.js';
import { BUILT_PAGE, findBarriers, overflowOf, useBrowser } from '../support/browser-page.js';
import { startTestDashboard, type TestDashboard } from '../support/test-dashboard.js';

describe('users and opt-outs in the console', () => {
  const browser = useBrowser();
  let space: RedisSpace;
  let api: TestApi;
  let dashboard: TestDashboard;
  before(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space);
    dashboard = await startTestDashboard(space, { apiUrl: api.origin, pageFolder: BUILT_PAGE });
  });
  after(async () => {
    await dashboard.close();
    await api.close();
    await space.close();
  });

  it('an admin adds a user, and the link lets that user in as what they are', async () => {
    const page = await browser.open(dashboard, '/settings/users');
    await page.getByRole('button', { name: 'Add a user' }).click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Ann@example.com');
    await page.getByRole('combobox', { name: 'Role' }).selectOption('viewer');
    await page.getByRole('button', { name: 'Add and make a link' }).click();
    const link = await page.getByRole('group', { name: 'One-time link of ann@example.com' }).innerText();
    await page.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('row', { name: 'ann@example.com' }).waitFor();

    const other = await browser.open(dashboard, '/sign-in', { role: 'none' });
    await other.goto('about:blank');
    await other.goto(link);
    await other.getByRole('link', { name: 'Your sessions' }).click();
    await other.getByText('this one').waitFor();
    expect(await other.getByRole('link', { name: 'Users' }).count()).to.equal(0);

    await page.getByRole('button', { name: 'Remove: ann@example.com' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('row', { name: 'ann@example.com' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByRole('combobox', { name: 'What' }).selectOption('Removed a user');
    await page.getByRole('row', { name: /admin Removed a user ann@example.com/ }).waitFor();
    expect(page.url()).to.include('action=user.removed');
  });

  it('an operator adds people by their numbers, finds one, and lifts what they asked to be', async () => {
    const page = await browser.open(dashboard, '/opt-outs', { role: 'operator' });
    await page.getByText('No one has opted out').waitFor();
    await page.getByRole('button', { name: 'Add people' }).click();
    const numbers = page.getByRole('textbox', { name: 'Numbers' });
    await numbers.fill('+44 7700 900123\nnonsense\n447700900124');
    await page.getByRole('button', { name: 'Add 2 numbers' }).click();
    await page.getByText('Line 2 holds no number').waitFor();
    await numbers.fill('+44 7700 900123\n447700900124');
    await page.getByRole('button', { name: 'Add 2 numbers' }).click();
    await page.getByText('2 people, 2 of them below').waitFor();
    expect(await findOptOut(space.store, 'main', '447700900123')).to.include({ source: 'api' });

    await page.getByRole('textbox', { name: 'Is a person on the list?' }).fill('447700900123');
    await page.keyboard.press('Enter');
    await page.getByText('On the list: added').waitFor();
    await page.getByRole('button', { name: 'Lift: 447700900123' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Lift' }).click();
    await page.getByText('1 person').waitFor();
    expect(await findOptOut(space.store, 'main', '447700900123')).to.equal(undefined);
  });

  it('a long list comes page by page, without barriers, and for viewers masked', async () => {
    const phones = Array.from({ length: 120 }, (_, index) => `4477009${String(20_000 + index)}`);
    await addOptOuts(space.store, 'main', { numbers: phones, source: 'reply', atMs: Date.now() });
    const page = await browser.open(dashboard, '/opt-outs', {
      ...{ role: 'viewer', language: 'ar', scheme: 'dark', width: 320 },
    });
    await page.getByRole('button', { name: 'عرض المزيد' }).click();
    await page.getByRole('button', { name: 'عرض المزيد' }).waitFor({ state: 'detached' });
    expect(await page.getByRole('row').count()).to.be.above(120);
    expect(await page.content()).not.to.include('4477009');
    expect(await findBarriers(page, { asPage: true })).to.deep.equal([]);
    expect(await overflowOf(page)).to.be.at.most(0);
  });
});
