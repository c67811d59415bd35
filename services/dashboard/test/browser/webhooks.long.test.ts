import { expect } from 'chai';
import { BUILT_PAGE, findBarriers, overflowOf, useBrowser } from '../support/browser-page.js';
import { useWebhookStage } from '../support/use-webhook-stage.js';

describe('the page of webhooks', () => {
  const stage = useWebhookStage({ pageFolder: BUILT_PAGE });
  const browser = useBrowser();

  it('makes one with one field, shows its secret once with the lines that verify, and tests it', async () => {
    const page = await browser.open(stage.dashboard, '/settings/webhooks', { role: 'operator' });
    await page.getByText('No webhooks yet').waitFor();
    await page.getByRole('button', { name: 'Create webhook' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'URL' }).fill('http://169.254.169.254/');
    await dialog.getByRole('button', { name: 'Create webhook' }).click();
    await dialog.getByText('It leads to a network that is not allowed').waitFor();
    // Why, with the id of the request.
    await dialog.getByRole('alert').getByText('Request').waitFor();
    browser.allowErrors(/400/);
    await dialog.getByRole('textbox', { name: 'URL' }).fill(stage.url);
    await dialog.getByRole('button', { name: 'Create webhook' }).click();
    const secret = await dialog.getByRole('group', { name: 'Secret' }).innerText();
    expect(secret).to.match(/^whsec_/);
    expect(await dialog.getByRole('group', { name: 'Lines that verify' }).innerText()).to.include(secret);

    stage.status = 500;
    await dialog.getByRole('button', { name: 'Send a test' }).click();
    await dialog.getByText('Answered 500').waitFor();
    stage.status = 204;
    await dialog.getByRole('button', { name: 'Send a test' }).click();
    await dialog.getByText('It is told what happens.').waitFor();
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByRole('row', { name: new RegExp(`${stage.host}.*Active`) }).waitFor();
    await dialog.waitFor({ state: 'detached' });
    expect(await page.content()).not.to.include(secret);

    await page.getByRole('link', { name: stage.host }).click();
    await page.getByRole('row', { name: /Answered 500/ }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('heading', { name: 'Paused' }).waitFor();
    await page.getByRole('button', { name: 'More to do with this webhook' }).click();
    await page.getByRole('menuitem', { name: 'Rotate secret' }).click();
    await dialog.getByRole('button', { name: 'Rotate secret' }).click();
    expect(await dialog.getByRole('group', { name: 'Secret' }).innerText()).not.to.equal(secret);
    await dialog.getByRole('button', { name: 'Done' }).click();
    await page.getByText('Former secret signs until').waitFor();
  });

  it('is without barriers and fits into 320 px, in Arabic and dark, for viewers without buttons', async () => {
    const look = { role: 'viewer', language: 'ar', scheme: 'dark', width: 320 } as const;
    const page = await browser.open(stage.dashboard, '/settings/webhooks', look);
    await page.getByRole('link', { name: stage.host }).waitFor();
    const check = async () => {
      expect(await findBarriers(page, { asPage: true })).to.deep.equal([]);
      expect(await overflowOf(page)).to.be.at.most(0);
    };
    await check();
    await page.getByRole('link', { name: stage.host }).click();
    await page.getByRole('row', { name: /500/ }).waitFor();
    await check();
    expect(await page.locator('main button[aria-haspopup=menu]').count()).to.equal(0);
    expect(await page.getByRole('button', { name: 'إرسال اختبار' }).count()).to.equal(0);
    expect(await page.content()).not.to.include('a-token-in-the-path');
  });
});
