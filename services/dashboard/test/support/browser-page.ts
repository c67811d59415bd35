import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { UserRole } from '@gateway/contracts/console/users';
import { ROOT } from '@gateway/scripts/paths';
import { PATIENCE_MS } from '@gateway/testkit/eventually';
import { findChromium } from '@gateway/testkit/processes/find-chromium';
import axe from 'axe-core';
import { expect } from 'chai';
import { type Browser as Chromium, chromium, type Page } from 'playwright-core';
import type { TestDashboard } from './test-dashboard.js';

/** What `npm run build` has made of the page. */
export const BUILT_PAGE = join(ROOT, 'services/dashboard/dist/web');

export interface Look {
  language?: 'en' | 'ar';
  scheme?: 'light' | 'dark';
  /** Pixels. */
  width?: number;
}

export interface BrowserStage {
  /** What browsers log of each failed request is no error of the page where the failure was meant. */
  allowErrors(pattern: RegExp): void;
  /** A page of a browser of its own, signed in as a user of this role, or not at all (`none`). */
  open(dashboard: TestDashboard, path: string, options?: Look & { role?: UserRole | 'none' }): Promise<Page>;
}

/** One for all tests of a process: what pages keep is kept by their contexts, and to start one takes seconds of a core. */
let shared: Chromium | undefined;
// Outside of every `describe`: at the end of the run.
after(() => shared?.close());

async function shareBrowser(): Promise<Chromium> {
  if (!shared?.isConnected()) {
    shared = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox'] });
  }
  return shared;
}

/** What is blurred behind a dialog is drawn anew for each frame, by a processor here: a quarter of what a look at a dialog costs. */
const WITHOUT_BLUR = `addEventListener('DOMContentLoaded', () => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('* { backdrop-filter: none !important }');
  document.adoptedStyleSheets.push(sheet);
})`;

/** A browser for the tests of a `describe`. After each of them no page may have logged an error, or broken its own policy. */
export function useBrowser(): BrowserStage {
  let browser: Chromium;
  const errors: string[] = [];
  before(async () => {
    browser = await shareBrowser();
  });
  afterEach(async () => {
    for (const context of browser.contexts()) await context.close();
    expect(errors.splice(0)).to.deep.equal([]);
  });
  return {
    allowErrors(pattern) {
      errors.splice(0, errors.length, ...errors.filter((error) => !pattern.test(error)));
    },
    async open(dashboard, path, { language = 'en', scheme = 'light', width = 1280, role = 'admin' } = {}) {
      const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme: scheme });
      // Also of pages that its first one opens.
      context.setDefaultTimeout(PATIENCE_MS);
      await context.addInitScript(`if (location.host) localStorage.setItem('console-language', '${language}')`);
      await context.addInitScript(WITHOUT_BLUR);
      if (role !== 'none') {
        const [name, value] = (await dashboard.signIn(role)).cookie!.split('=') as [string, string];
        await context.addCookies([{ name, value, url: dashboard.origin }]);
      }
      const page = await context.newPage();
      page.on('pageerror', (error) => errors.push(error.message));
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text());
      });
      await page.goto(`${dashboard.origin}/console${path}`);
      return page;
    },
  };
}

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/**
 * What axe finds against WCAG 2.2 AA, as `rule: elements`; with `asPage` against best practice for whole pages, too, which a
 * dialog over one is not.
 */
export async function findBarriers(page: Page, { asPage }: { asPage: boolean }): Promise<string[]> {
  // Of what passes axe would make just as long a list, which takes four times as long.
  const options = { resultTypes: ['violations'], ...(!asPage && { runOnly: WCAG }) };
  // Evaluations are exempt from the Content-Security-Policy of the page; a script tag is not.
  if (!(await page.evaluate<boolean>("'axe' in globalThis"))) await page.evaluate(axe.source);
  const violations = await page.evaluate<AxeViolation[]>(
    `axe.run(${JSON.stringify(options)}).then(({ violations }) => violations)`,
  );
  return violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ html, failureSummary }) => `${html.slice(0, 120)} ${failureSummary}`).join(' | ')}`,
  );
}

interface AxeViolation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

const CONTROLS = new Set([
  ...['button', 'link', 'textbox', 'searchbox', 'combobox', 'listbox', 'checkbox', 'radio', 'radiogroup', 'switch'],
  ...['menu', 'menuitem', 'option', 'tab', 'slider', 'spinbutton', 'dialog', 'table', 'navigation', 'region', 'image'],
]);

interface AxNode {
  ignored: boolean;
  backendDOMNodeId: number;
  role?: { value: string };
  name?: { value: string };
  properties?: { name: string; value: { value: unknown } }[];
}

/** What the browser hands to screen readers: controls without a name, and headings that leave out a level. */
export async function findUnspoken(page: Page): Promise<string[]> {
  const session = await page.context().newCDPSession(page);
  const { nodes } = (await session.send('Accessibility.getFullAXTree')) as { nodes: AxNode[] };
  const heard = nodes.filter(({ ignored }) => !ignored);
  const unnamed = heard.filter(({ role, name }) => CONTROLS.has(role?.value ?? '') && !name?.value.trim());
  const elements = await Promise.all(
    unnamed.map(async ({ backendDOMNodeId }) => {
      const { outerHTML } = await session.send('DOM.getOuterHTML', { backendNodeId: backendDOMNodeId });
      return `without a name: ${outerHTML.slice(0, 200)}`;
    }),
  );
  await session.detach();
  const levels = heard
    .filter(({ role }) => role?.value === 'heading')
    .map(({ properties }) => Number(properties?.find(({ name }) => name === 'level')?.value.value));
  const skipped = levels.filter((level, index) => level > (levels[index - 1] ?? 0) + 1);
  return [...elements, ...skipped.map((level) => `out of order: a heading of level ${level}`)];
}

/** Ids, numbers, addresses and lines for a terminal that are written from right to left: of these the signs would change places. */
export function findTurned(page: Page): Promise<string[]> {
  return page.evaluate(`(() => {
    const LATIN = /^(?:(?:msg|whk|evt|req|link)_[\\w-]+|\\+[\\d* -]{6,}|https?:.*|curl .*|npm run .*|[a-z]+_\\d{3}|[\\w-]+@lid)$/;
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const turned = [];
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode;
      if (!LATIN.test(data.trim()) || parentElement.closest('script, style')) continue;
      if (getComputedStyle(parentElement).direction !== 'ltr') turned.push(data.trim());
    }
    return turned;
  })()`);
}

/** Pixels that the page is wider than its window. */
export function overflowOf(page: Page): Promise<number> {
  return page.evaluate('document.documentElement.scrollWidth - innerWidth');
}

/** `npm run test:browser` takes them from there to `docs/console`. */
const SHOTS = join(ROOT, 'build/console');

/** Takes a picture as WebP: a third of the size of PNG, which is all that Playwright itself makes without loss. */
export async function shoot(page: Page, name: string): Promise<void> {
  await page.evaluate('document.fonts.ready');
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
  mkdirSync(SHOTS, { recursive: true });
  writeFileSync(join(SHOTS, `${name}.webp`), Buffer.from(data, 'base64'));
}
