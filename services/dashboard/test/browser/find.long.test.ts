import { parseMessageId } from '@gateway/contracts/ids';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { readIdKey, renameDevice } from '@gateway/store/devices/devices';
import { listSends } from '@gateway/store/sends/listing/list-sends';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { linkDevice } from '../../../api/test/support/device-owner.js';
import { BUILT_PAGE, findBarriers, useBrowser } from '../support/browser-page.js';
import { makeSend } from '../support/make-send.js';
import { useTestDashboard } from '../support/test-dashboard.js';

const SHOP = { workspace: 'main', device: 'shop' };

describe('finding things in the console', () => {
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE });
  const browser = useBrowser();
  let messageId: string;
  before(async () => {
    const { store } = stage.space;
    const owner = await linkDevice(store, SHOP);
    await renameDevice(store, SHOP, 'Corner shop \u202Egnp');
    await makeSend(store, owner, { count: 20, text: 'hello' });
    messageId = (await listSends(store, 'main', { limit: 1 })).sends[0]!.send.messageId;
  });

  const find = async (page: Page, text: string) => {
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    const box = page.getByRole('combobox', { name: 'What do you look for?' });
    await box.waitFor();
    await box.fill(text);
    return box;
  };

  it('by the keyboard alone: a page, a device, and back to where one was', async () => {
    const page = await browser.open(stage.dashboard, '/overview');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const box = await find(page, 'corner');
    await page.getByRole('option', { name: /Corner shop/ }).waitFor();
    expect(await box.getAttribute('aria-expanded')).to.equal('true');
    const active = await box.getAttribute('aria-activedescendant');
    expect(await page.locator('[role=option][aria-selected=true]').getAttribute('id')).to.equal(active);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/devices\/shop$/);
    await find(page, '');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/devices$/);
    await find(page, 'nothing of that name');
    await page.getByText('Nothing has that name.').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  it('a message by its id, and a recipient by number or by the id that the phone shows', async () => {
    const page = await browser.open(stage.dashboard, '/devices', { role: 'operator' });
    await page.getByRole('heading', { name: 'Devices' }).waitFor();
    await find(page, ` ${messageId} `);
    await page.getByRole('option').waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/messages/${messageId}$`));
    const key = (await readIdKey(stage.space.store, SHOP))!;
    const networkId = platformIds(key).make({ tag: parseMessageId(messageId)!.tag, recipient: 7, part: 0 });
    for (const [sought, place] of [
      ['+44 7700 000 012', 12],
      [networkId.toLowerCase(), 7],
    ] as const) {
      await find(page, sought);
      await page.getByRole('option', { name: messageId }).waitFor();
      await page.keyboard.press('Enter');
      await page.waitForURL(new RegExp(`/messages/${messageId}\\?recipient=${place}$`));
    }
    await find(page, '+44 7700 900 999');
    await page.getByText('No message of the last week went there.').waitFor();
  });

  it('a token that leaked, of which nothing but the key id is shown or sent', async () => {
    const { value, token } = await createApiToken(stage.space.store, 'main', { name: 'leaked' });
    await createApiToken(stage.space.store, 'main', { name: 'another' });
    const secret = value.split('_')[2]!;
    const page = await browser.open(stage.dashboard, '/overview');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    const sent: string[] = [];
    page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`));
    const box = await find(page, `Authorization: Bearer ${value}`);
    await page.getByRole('option', { name: /leaked/ }).waitFor();
    expect(await box.inputValue()).to.equal(`gw_${token.keyId}_`);
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/settings\/api\?key=/);
    await page.locator(`tr[data-token="${token.keyId}"][aria-current]`).waitFor();
    await page.getByRole('button', { name: 'Revoke: leaked' }).waitFor();
    expect([...sent, page.url(), await page.content()].join()).not.to.include(secret.slice(0, 8));
    const operator = await browser.open(stage.dashboard, '/overview', { role: 'operator' });
    await operator.getByRole('heading', { name: 'Overview' }).waitFor();
    await find(operator, value);
    await operator.getByText(`Key id ${token.keyId}: an admin can look it up`).waitFor();
  });

  for (const look of [
    { language: 'en', scheme: 'dark', width: 1440 },
    { language: 'ar', scheme: 'light', width: 320 },
  ] as const) {
    it(`has no barrier that axe finds: ${Object.values(look).join(', ')}`, async () => {
      const page = await browser.open(stage.dashboard, '/overview', look);
      await page.locator('main h1').waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('option').nth(3).waitFor();
      await page.locator('[role=option][aria-selected=true]').waitFor();
      expect(await findBarriers(page, { asPage: false })).to.deep.equal([]);
    });
  }
});
