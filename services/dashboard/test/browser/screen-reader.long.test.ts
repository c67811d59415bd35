import { makeAttemptId, parseMessageId } from '@gateway/contracts/ids';
import { requestLink } from '@gateway/store/devices/device-state';
import { recordResults } from '@gateway/store/sends/change-send';
import { listSends } from '@gateway/store/sends/listing/list-sends';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { linkDevice, ownDevice } from '../../../api/test/support/device-owner.js';
import { BUILT_PAGE, findUnspoken, useBrowser } from '../support/browser-page.js';
import { makeSend } from '../support/make-send.js';
import { useTestDashboard } from '../support/test-dashboard.js';

/** Notes what regions say that screen readers read out when they change. */
const LISTEN = `window.told = [];
  const LIVE = '[role=status], [role=alert], [aria-live=polite], [aria-live=assertive], output';
  new MutationObserver((changes) => {
    for (const { target, addedNodes } of changes) {
      const near = target.nodeType === Node.TEXT_NODE ? target.parentElement : target;
      const added = [...addedNodes].flatMap((node) => (node.querySelectorAll ? [node, ...node.querySelectorAll('[role=alert]')] : []));
      // An alert speaks when it appears; another region has to be there before what it says.
      const alert = added.find((node) => node.matches('[role=alert]'));
      const region = alert ?? near?.closest(LIVE);
      if (region) window.told.push(region.textContent);
    }
  }).observe(document.body, { childList: true, characterData: true, subtree: true });`;

describe('the page of the console, to those who hear it', () => {
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE });
  const browser = useBrowser();
  const inMain = (device: string) => ({ workspace: 'main', device });
  const holds = (page: Page, condition: string) =>
    eventually(() => page.evaluate<boolean>(condition), { what: condition });
  const toldOf = (page: Page, pattern: RegExp) => holds(page, `window.told.some((each) => ${pattern}.test(each))`);

  it('has nothing on a phone that is off the screen: its menu is there once it is opened', async () => {
    const page = await browser.open(stage.dashboard, '/devices', { width: 320 });
    const links = page.getByRole('navigation').getByRole('link');
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await links.count(), 'links of the closed menu').to.equal(0);
    const isSeen = `(({ left, right }) => left >= 0 && right <= innerWidth)(document.activeElement.getBoundingClientRect())`;
    for (let tab = 0; tab < 8; tab++) {
      await page.keyboard.press('Tab');
      expect(await page.evaluate<boolean>(isSeen), `after ${tab + 1} tabs`).to.equal(true);
    }
    await page.getByRole('button', { name: 'Menu', exact: true }).press('Enter');
    await eventually(async () => (await links.count()) > 5);
    await links.filter({ hasText: 'Messages' }).press('Enter');
    await page.waitForURL(/messages/);
    await eventually(async () => (await links.count()) === 0);
  });

  it('begins to read a page at its heading, wherever one came from', async () => {
    await linkDevice(stage.space.store, inMain('shop'));
    const page = await browser.open(stage.dashboard, '/devices');
    const isAt = (heading: string) =>
      holds(page, `document.activeElement.matches('h1') && document.activeElement.textContent.includes('${heading}')`);
    await page.getByRole('link', { name: 'shop' }).click();
    await isAt('shop');
    await page.getByRole('navigation').getByRole('link', { name: 'Messages' }).press('Enter');
    await isAt('Messages');
    expect(await page.title()).to.include('Messages');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'What do you look for?' }).fill('Audit log');
    await page.getByRole('option', { name: /Audit log/ }).waitFor();
    await page.keyboard.press('Enter');
    await isAt('Audit log');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await isAt('Audit log');
    await page.goBack();
    await isAt('Messages');
    // A change of the address by the page itself leaves the focus in its field.
    const state = page.getByRole('combobox', { name: 'State' });
    await state.focus();
    await state.selectOption('failed');
    await page.waitForURL(/status=failed/);
    expect(await page.evaluate('document.activeElement.tagName')).to.equal('SELECT');
  });

  it('tells how linking goes: a code is there, it is dead, the account is linked', async () => {
    const { store } = stage.space;
    const owner = await ownDevice(store, inMain('linking'));
    const page = await browser.open(stage.dashboard, '/devices/linking');
    await page.getByRole('button', { name: 'Show the QR code' }).waitFor();
    await page.evaluate(LISTEN);
    await requestLink(store, inMain('linking'), { attemptId: makeAttemptId(), method: 'qrCode', forceNew: false });
    await owner.observe({ status: 'connecting', reason: 'linking', code: 'a', codeExpiresAtMs: Date.now() + 2_000 });
    await toldOf(page, /A code is on the screen/);
    await toldOf(page, /Waiting for the next code/);
    await owner.observe({ status: 'connected', phone: '447700900123' }, 'linked');
    await toldOf(page, /^Connected. Messages go out./);
  });

  it('tells how far a send is, in tens, and what was done', async () => {
    const { store } = stage.space;
    const owner = await linkDevice(store, inMain('teller'));
    await makeSend(store, owner, { count: 200, text: 'hello' });
    const { sends } = await listSends(store, 'main', { limit: 1 });
    const { messageId } = sends[0]!.send;
    const page = await browser.open(stage.dashboard, `/messages/${messageId}`);
    await page.getByRole('button', { name: 'Queued 80' }).waitFor();
    await page.evaluate(LISTEN);
    const { tag } = parseMessageId(messageId)!;
    const reach = (recipients: number[]) => {
      const events = recipients.map((recipient) => ({ recipient, part: 0, event: 'read' as const }));
      return recordResults(store, owner.ownership, { tag, nowMs: Date.now(), events });
    };
    await reach(Array.from({ length: 30 }, (_, index) => 120 + index));
    await toldOf(page, /^Sending, 70% done$/);
    await reach(Array.from({ length: 50 }, (_, index) => 150 + index));
    await toldOf(page, /100% done/);
    await page.goto(`${stage.dashboard.origin}/console/devices/teller`);
    await page.getByRole('button', { name: 'More to do with this device' }).click();
    await page.evaluate(LISTEN);
    await page.getByRole('menuitem', { name: 'Make it the default' }).click();
    await toldOf(page, /Programs without a device of their own/);
    expect(await findUnspoken(page)).to.deep.equal([]);
  });
});
