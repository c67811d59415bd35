import { parseMessageId } from '@gateway/contracts/ids';
import { claimRecipient, recordResults } from '@gateway/store/sends/change-send';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { type DeviceOwner, linkDevice } from '../../../api/test/support/device-owner.js';
import { startTestApi, type TestApi } from '../../../api/test/support/test-api.js';
import { BUILT_PAGE, useBrowser } from '../support/browser-page.js';
import { startTestDashboard, type TestDashboard } from '../support/test-dashboard.js';

const LIST = 10_000;
const STEP = 500;
const NUMBERS = Array.from({ length: LIST }, (_, i) => `+${447700000000 + i}`);
/** As a person pastes it: what types for tests does so line by line, which takes a browser a minute. */
const PASTE = `
  const area = document.querySelector('textarea');
  const { set } = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value');
  set.call(area, ${JSON.stringify(NUMBERS.join('\n'))});
  area.dispatchEvent(new InputEvent('input', { bubbles: true }));
`;

/** Of a filter, from the click until its first row is there. The best of a few: what the machine does besides is none of it. */
const MOST_FILTER_MS = 150;
const FILTER = `new Promise((resolve) => {
  const startMs = performance.now();
  document.querySelector('[aria-pressed]').click();
  const look = () => {
    const first = document.querySelector('[aria-rowindex="2"]')?.textContent ?? '';
    if (/^\\+\\d+Queued/.test(first)) resolve(performance.now() - startMs);
    else requestAnimationFrame(look);
  };
  look();
})`;

describe('ten thousand recipients in the console', () => {
  const browser = useBrowser();
  let space: RedisSpace;
  let api: TestApi;
  let dashboard: TestDashboard;
  let owner: DeviceOwner;
  before(async () => {
    space = await openRedisSpace();
    api = await startTestApi(space, {});
    dashboard = await startTestDashboard(space, { apiUrl: api.origin, pageFolder: BUILT_PAGE });
    owner = await linkDevice(space.store, { workspace: 'main', device: 'default' });
  });
  after(async () => {
    await dashboard.close();
    await api.close();
    await space.close();
  });

  it('are pasted, sent, and followed to their end, in few rows at every time', async () => {
    const page = await browser.open(dashboard, '/messages/new', { role: 'operator' });
    await page.getByLabel('Recipients').waitFor();
    await page.evaluate(PASTE);
    await page.getByLabel('Text', { exact: true }).fill('News for all on the list.');
    await page.getByRole('button', { name: 'Send to 10,000 people' }).click();
    await page.waitForURL(/messages\/msg_/);
    const { tag } = parseMessageId(page.url().split('/').at(-1)!)!;
    const nowMs = Date.now();
    await claimRecipient(space.store, owner.ownership, { tag, recipient: 0, part: 0, nowMs });
    await page.getByRole('table').waitFor();
    const rows: number[] = [];
    const filterMs: number[] = [];
    for (let from = 0; from < LIST; from += STEP) {
      const events = Array.from({ length: STEP }, (_, i) => ({ recipient: from + i, part: 0, event: 'read' as const }));
      await recordResults(space.store, owner.ownership, { tag, nowMs, events });
      rows.push(await page.getByRole('row').count());
      if (from > LIST / 2) continue;
      // All of them again, of which the first were read.
      await page.getByRole('row', { name: /Read/ }).first().waitFor();
      filterMs.push(await page.evaluate<number>(FILTER));
      await page.locator('[aria-pressed=true]').click();
    }
    expect(Math.min(...filterMs)).to.be.below(MOST_FILTER_MS);
    await page.getByRole('button', { name: 'Read 10,000', exact: true }).waitFor();
    expect(Math.max(...rows)).to.be.within(5, 80);
    // Nothing is left to be cancelled.
    await page.getByRole('button', { name: 'Cancel the rest' }).waitFor({ state: 'detached' });
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await page.getByText(NUMBERS.at(-1)!).waitFor();
  });
});
