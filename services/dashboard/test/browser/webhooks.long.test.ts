import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { workspaceKeys } from '@gateway/contracts/redis-keys';
import { ensureDevice } from '@gateway/store/devices/devices';
import { listWebhooks } from '@gateway/store/webhooks/webhooks';
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

  it('makes one for several devices with a key, whose lines verify, and has it told again what happened', async () => {
    const { store } = stage.space;
    for (const device of ['shop', 'desk', 'events']) await ensureDevice(store, { workspace: 'main', device });
    const page = await browser.open(stage.dashboard, '/settings/webhooks', { role: 'operator' });
    await page.getByRole('button', { name: 'Create webhook' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox', { name: 'URL' }).fill(stage.url);
    await dialog.getByRole('textbox', { name: 'What it is for' }).fill('several');
    for (const device of ['shop', 'desk']) {
      await dialog.getByRole('combobox', { name: 'Devices' }).fill(device);
      await page.getByRole('option', { name: device }).click();
    }
    await dialog.getByText('Signature, order and pace').click();
    await dialog.getByRole('combobox', { name: 'Signature' }).selectOption('v1a');
    await dialog.getByRole('combobox', { name: 'What is refused' }).selectOption('strict');
    await dialog.getByRole('textbox', { name: 'Seconds to gather' }).fill('301');
    await dialog.getByRole('button', { name: 'Create webhook' }).click();
    await dialog.getByText('A whole number from 1 to 300.').waitFor();
    await dialog.getByRole('textbox', { name: 'Seconds to gather' }).fill('5');
    await dialog.getByRole('textbox', { name: 'Requests at a time' }).fill('3');
    await dialog.getByRole('button', { name: 'Create webhook' }).click();
    expect(await dialog.getByRole('group', { name: 'Public key' }).innerText()).to.match(/^whpk_/);
    stage.status = 200;
    await dialog.getByRole('button', { name: 'Send a test' }).click();
    await dialog.getByText('It is told what happens.').waitFor();
    const { headers, body } = stage.received.at(-1)!;
    const lines = await dialog.getByRole('group', { name: 'Lines that verify' }).innerText();
    const says = async (said: string) => {
      const given = `const [headers, body] = ${JSON.stringify([headers, said])};`;
      const module = `${given}\n${lines}\nconsole.log(isFromHere);`;
      return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', module])).stdout.trim();
    };
    expect([await says(body), await says(`${body} `)]).to.deep.equal(['true', 'false']);
    await dialog.getByRole('button', { name: 'Done' }).click();

    const made = (await listWebhooks(store, 'main')).find(({ settings }) => settings.description === 'several')!;
    expect(made.settings).to.deep.include({
      ...{ devices: ['shop', 'desk'], order: 'strict', gatherSeconds: 5, concurrency: 3 },
    });
    await page.goto(`${stage.dashboard.origin}/console/settings/webhooks/${made.id}`);
    await page.getByText('Hold up all that comes after').waitFor();
    await page.getByRole('button', { name: 'More to do with this webhook' }).click();
    await page.getByRole('menuitem', { name: 'Send again' }).click();
    await dialog.getByLabel('From').fill('2999-01-01T00:00');
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await dialog.getByText('A time that has passed.').waitFor();
    await dialog.getByLabel('From').fill('2026-11-20T10:00');
    expect(await findBarriers(page, { asPage: false })).to.deep.equal([]);
    await dialog.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('It is sent again.').waitFor();
    const [replay] = await store.redis.lrange(workspaceKeys(store.space, 'main').webhookReplays(made.id), 0, -1);
    expect(replay).to.include(`${Date.parse('2026-11-20T10:00')}_`);
  });

  it('is without barriers and fits into 320 px, in Arabic and dark, for viewers without buttons', async () => {
    const look = { role: 'viewer', language: 'ar', scheme: 'dark', width: 320 } as const;
    const page = await browser.open(stage.dashboard, '/settings/webhooks', look);
    await page.getByRole('link', { name: stage.host }).first().waitFor();
    const check = async () => {
      expect(await findBarriers(page, { asPage: true })).to.deep.equal([]);
      expect(await overflowOf(page)).to.be.at.most(0);
    };
    await check();
    await page.getByRole('link', { name: stage.host }).first().click();
    await page.getByRole('row', { name: /500/ }).waitFor();
    await check();
    expect(await page.locator('main button[aria-haspopup=menu]').count()).to.equal(0);
    expect(await page.getByRole('button', { name: 'إرسال اختبار' }).count()).to.equal(0);
    expect(await page.content()).not.to.include('a-token-in-the-path');
  });
});
