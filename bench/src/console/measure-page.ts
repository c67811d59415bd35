import { LIMITS } from '@gateway/contracts/limits';
import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { makeNumbers } from '@gateway/testkit/phones';
import { findChromium } from '@gateway/testkit/processes/find-chromium';
import { type Browser, chromium } from 'playwright-core';
import type { BenchContext } from '../support/benchmark.js';
import { accept } from '../support/send.js';
import type { Stage } from '../support/stage.js';
import { median, rounded } from '../support/statistics.js';
import type { OpenConsole } from './open-console.js';

const LOOKS = 15;
const BYTES = "performance.getEntriesByType('resource').reduce((sum, each) => sum + each.encodedBodySize, 0)";

/** From the click on the second status until the first row has it. */
const FILTER = `new Promise((resolve, reject) => {
  const startMs = performance.now();
  const button = [...document.querySelectorAll('button[aria-pressed]')].find((each) => /[1-9]/.test(each.textContent));
  const status = button.textContent.replace(/[\\d,\\s]/g, '');
  const former = document.querySelector('[aria-rowindex="2"]');
  button.click();
  const look = () => {
    const first = document.querySelector('[aria-rowindex="2"]')?.textContent ?? '';
    if (button.getAttribute('aria-pressed') === 'true' && first.includes(status)) resolve(performance.now() - startMs);
    else if (performance.now() - startMs > 5_000) reject(new Error('no row of ' + status));
    else requestAnimationFrame(look);
  };
  look();
})`;

/** What a browser has to load and to hold: bytes as they come over the wire, and a list of the largest size while it goes out. */
export async function measurePage(context: BenchContext, { stage, open }: { stage: Stage; open: OpenConsole }) {
  const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
  context.lifecycle.add('browser', () => browser.close());
  const page = {
    firstPageKb: await loadFirstPage(browser, { stage, open, language: 'en' }),
    firstPageArabicKb: await loadFirstPage(browser, { stage, open, language: 'ar' }),
    ...(await followList(browser, { stage, open })),
  };
  await browser.close();
  context.say(JSON.stringify(page));
  return page;
}

/** From a link that signs in to the overview, fonts and answers among it, brotli. */
async function loadFirstPage(
  browser: Browser,
  { stage, open, language }: { stage: Stage; open: OpenConsole; language: 'en' | 'ar' },
): Promise<number> {
  const context = await browser.newContext();
  await context.addInitScript(`if (location.host) localStorage.setItem('console-language', '${language}')`);
  const page = await context.newPage();
  const secret = await createOneTimeLink(stage.space.store, 'admin');
  await page.goto(`${open.origin}/console/sign-in#link=${secret}`);
  await page.locator('dl').first().waitFor();
  const bytes = await page.evaluate<number>(BYTES);
  await context.close();
  return rounded(bytes / 1_000);
}

async function followList(browser: Browser, { stage, open }: { stage: Stage; open: OpenConsole }) {
  const messageId = await accept(stage, { to: makeNumbers(LIMITS.maxRecipients, 1) });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const [name, value] = (await open.signIn()).split('=') as [string, string];
  await context.addCookies([{ name, value, url: open.origin }]);
  const page = await context.newPage();
  await page.goto(`${open.origin}/console/messages/${messageId}`);
  await page.getByRole('row').nth(1).waitFor();
  const rows: number[] = [];
  const filterMs: number[] = [];
  for (let look = 0; look < LOOKS; look++) {
    filterMs.push(await page.evaluate<number>(FILTER));
    rows.push(await page.getByRole('row').count());
    await page.locator('button[aria-pressed=true]').first().click();
  }
  await context.close();
  await stage.gateway.call('DELETE', `/messages/${messageId}`);
  return {
    rowsOfList: Math.max(...rows),
    filterMs: rounded(median(filterMs)),
    slowestFilterMs: rounded(Math.max(...filterMs)),
  };
}
