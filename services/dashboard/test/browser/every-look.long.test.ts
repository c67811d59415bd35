import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { BUILT_PAGE, findBarriers, overflowOf, useBrowser } from '../support/browser-page.js';
import { fillConsole } from '../support/fill-console.js';
import { followTo, inspectPages, PAGES, turnTo } from '../support/inspect-pages.js';
import { useTestDashboard } from '../support/test-dashboard.js';

/** All but Arabic on a dark phone, which is looked at with the quick tests. */
const LOOKS = {
  en: [
    { scheme: 'light', width: 1440 },
    { scheme: 'dark', width: 320 },
  ],
  ar: [{ scheme: 'light', width: 768 }],
} as const;
const SCHEMES = [
  { scheme: 'light', width: 1440 },
  { scheme: 'dark', width: 320 },
] as const;

const MENU = 'main button[aria-haspopup=menu]';
const PLUS = 'main button:has(.lucide-plus)';
const DEED = 'main td button';
const item = (icon: string) => `[role=menuitem]:has(.lucide-${icon})`;
/** A page, and what is clicked there, one after the other, until a dialog or a menu is open. A new dialog belongs here. */
const DIALOGS = [
  ['/devices', 'header button[aria-haspopup=menu]'],
  ['/devices', 'header button[aria-haspopup=menu]', item('key-round')],
  ['/devices', 'header button:has(.lucide-search)'],
  ['/devices', PLUS],
  ['/devices/hostile', MENU],
  ['/devices/hostile', MENU, item('pencil')],
  ['/devices/hostile', MENU, item('gauge')],
  ['/devices/hostile', 'main button:not(:has(svg))'],
  ['/devices/newsletter', MENU, item('trash-2')],
  ['/messages/MESSAGE', 'main .mantine-Button-root:last-child:not(a)'],
  ['/opt-outs', PLUS],
  ['/opt-outs', DEED],
  ['/settings/api', PLUS],
  ['/settings/api', DEED],
  ['/settings/users', PLUS],
  ['/settings/users', DEED],
  ['/settings/sessions', 'main button'],
  ['/settings/webhooks', PLUS],
  ['/settings/webhooks/WEBHOOK', MENU, item('pencil')],
  ['/settings/webhooks/WEBHOOK', MENU, item('key-round')],
  ['/settings/webhooks/WEBHOOK', MENU, item('repeat')],
  ['/settings/webhooks/WEBHOOK', MENU, item('trash-2')],
] as const;

describe('every page of the console, in every look', () => {
  // Hundreds of looks at some ten a second.
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE, api: {} });
  const browser = useBrowser();
  before(() => fillConsole(stage.space.store));

  for (const language of ['en', 'ar'] as const) {
    it(`has no barrier that axe finds, and fits: ${language}`, async () => {
      const page = await browser.open(stage.dashboard, '/devices', { language });
      expect(await inspectPages(page, stage.dashboard, LOOKS[language])).to.deep.equal({});
    });

    it(`has none in its dialogs either: ${language}`, async () => {
      const page = await browser.open(stage.dashboard, '/devices', { language });
      const found: Record<string, unknown> = {};
      let shown = '';
      for (const [path, ...openers] of DIALOGS) {
        // What closed leaves the page as it was, for the next one of it.
        if (path !== shown) await followTo(page, stage.dashboard, path);
        shown = path;
        for (const opener of openers) await page.locator(opener).last().click();
        await page.locator('[role=dialog], [role=menu]').last().waitFor();
        const barriers: string[] = [];
        // What colours hide does not depend on the language.
        for (const look of language === 'en' ? SCHEMES : SCHEMES.slice(1)) {
          await turnTo(page, look);
          barriers.push(...(await findBarriers(page, { asPage: false })));
        }
        await page.keyboard.press('Escape');
        await page.locator('[role=dialog], [role=menu]').last().waitFor({ state: 'detached' });
        // Back where one was: a menu that led to a dialog is the button of both.
        const isBack = `[...document.querySelectorAll(${JSON.stringify(openers[0])})].includes(document.activeElement)`;
        const hasReturned = await eventually(() => page.evaluate<boolean>(isBack), { timeoutMs: 3_000 }).catch(
          () => false,
        );
        if (barriers.length > 0 || !hasReturned) found[`${path} ${openers.at(-1)}`] = { barriers, hasReturned };
      }
      expect(found).to.deep.equal({});
    });
  }

  it('has none in the reference of the API, whose headings are those of its program', async () => {
    const page = await browser.open(stage.dashboard, '/sign-in');
    for (const look of [{ scheme: 'light', width: 768 }, ...SCHEMES, { scheme: 'dark', width: 1440 }] as const) {
      await page.setViewportSize({ width: look.width, height: 800 });
      await page.emulateMedia({ colorScheme: look.scheme });
      await page.goto(`${stage.api.origin}/api/messenger/v1/docs`);
      await page.getByRole('heading', { name: 'Link an account' }).first().waitFor();
      expect(await findBarriers(page, { asPage: false }), Object.values(look).join()).to.deep.equal([]);
      expect(await overflowOf(page)).to.be.at.most(0);
    }
  });
});

describe('every page of the console, with nothing on it yet', () => {
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE, api: {} });
  const browser = useBrowser();
  for (const language of ['en', 'ar'] as const) {
    it(`has no barrier that axe finds, and fits: ${language}`, async () => {
      const page = await browser.open(stage.dashboard, '/devices', { language });
      const pages = PAGES.filter((path) => !/[A-Z]|hostile/.test(path));
      const look = language === 'en' ? LOOKS.en[0] : ({ scheme: 'dark', width: 320 } as const);
      expect(await inspectPages(page, stage.dashboard, [look], { pages, widths: [320] })).to.deep.equal({});
    });
  }
});
