import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import type { CDPSession, Page } from 'playwright-core';
import { BUILT_PAGE, useBrowser } from '../support/browser-page.js';
import { fillConsole } from '../support/fill-console.js';
import { addressOf, followTo, PAGES } from '../support/inspect-pages.js';
import { useTestDashboard } from '../support/test-dashboard.js';

/** All that is asked of the console but for its files. */
const CALLS = { patterns: [{ urlPattern: '*/console/api/*' }] };
/** Of these, all but who one is. */
const READS = /\/console\/api\/(?!me$)/;
const REFUSAL = { success: false, error: 'x', code: 'internal', requestId: 'req_of_this_test' };
const REFUSED = {
  responseCode: 500,
  responseHeaders: [{ name: 'content-type', value: 'application/json' }],
  body: Buffer.from(JSON.stringify(REFUSAL)).toString('base64'),
};
const INSIDE = PAGES.filter((path) => path !== '/sign-in' && !path.includes('brand-new'));

/** Hands over what the page would read. `page.route()` also stops each file on its way, and none would come from the cache. */
async function takeReads(page: Page, take: (requestId: string, session: CDPSession) => void): Promise<void> {
  const session = await page.context().newCDPSession(page);
  session.on('Fetch.requestPaused', ({ requestId, request }) => {
    if (READS.test(request.url)) take(requestId, session);
    // A page that is left asks for nothing any more.
    else session.send('Fetch.continueRequest', { requestId }).catch(() => {});
  });
  await session.send('Fetch.enable', CALLS);
}

describe('every page of the console, in every state', () => {
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE, api: {} });
  const browser = useBrowser();
  before(() => fillConsole(stage.space.store));

  const goTo = async (page: Page, path: string) => {
    await page.goto(await addressOf(stage.dashboard, path));
    await page.getByRole('heading', { level: 1 }).first().waitFor();
  };
  const countOf = (page: Page, selector: string) => page.locator(selector).count();

  it('has its shape while its data are on their way', async () => {
    const page = await browser.open(stage.dashboard, '/sign-in');
    const held: string[] = [];
    await takeReads(page, (requestId) => held.push(requestId));
    const bare: string[] = [];
    for (const path of INSIDE) {
      await goTo(page, path);
      await eventually(() => held.length > 0, { what: `what ${path} asks for` });
      if ((await countOf(page, 'main .mantine-Skeleton-root')) === 0) bare.push(path);
      held.splice(0);
    }
    expect(bare).to.deep.equal([]);
  });

  it('says why there is nothing to see, with the id of the request and a way to try again', async () => {
    const page = await browser.open(stage.dashboard, '/sign-in');
    await takeReads(page, (requestId, session) => {
      session.send('Fetch.fulfillRequest', { requestId, ...REFUSED }).catch(() => {});
    });
    for (const path of INSIDE) {
      await goTo(page, path);
      const failure = page.getByRole('alert').first();
      await failure.getByText('req_of_this_test').waitFor();
      expect(await failure.getByRole('button', { name: 'Try again' }).count(), path).to.equal(1);
    }
    browser.allowErrors(/500/);
  });

  it('keeps what it shows without a network, and says so with the time', async () => {
    const page = await browser.open(stage.dashboard, '/devices');
    // What that one shows is still being read when the page is there.
    for (const path of INSIDE.filter((each) => !each.includes('again'))) {
      await followTo(page, stage.dashboard, path);
      const shown = await page.getByRole('main').innerText();
      await page.context().setOffline(true);
      await page.getByText(/You are offline\. What you see is from \d\d:\d\d/).waitFor();
      // Without a time: of "51 seconds ago" another is there by then.
      const line = shown.split('\n').findLast((each) => !/ ago|just now/i.test(each));
      expect(await page.getByRole('main').innerText(), path).to.include(line);
      await page.context().setOffline(false);
      await page.getByText('You are offline').waitFor({ state: 'detached' });
    }
    browser.allowErrors(/ERR_INTERNET_DISCONNECTED/);
  });
});
