import { expect } from 'chai';
import { BUILT_PAGE, findBarriers, overflowOf, useBrowser } from '../support/browser-page.js';
import { fillConsole } from '../support/fill-console.js';
import { inspectPages, openFully, turnTo } from '../support/inspect-pages.js';
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

describe('every page of the console, in every look', function () {
  // Hundreds of looks at some ten a second.
  this.timeout(240_000);
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
      const barriers: string[] = [];
      for (const [path, ...openers] of [
        ['/devices', 'header button[aria-haspopup=menu]'],
        ['/devices/hostile', 'main button[aria-haspopup=menu]'],
        ['/devices/hostile', 'main button[aria-haspopup=menu]', '[role=menuitem]:has(.lucide-pencil)'],
        ['/devices/hostile', 'main button[aria-haspopup=menu]', '[role=menuitem]:has(.lucide-gauge)'],
        ['/settings/api', 'main button:has(svg.lucide-plus)'],
        ['/settings/webhooks', 'main button:has(svg.lucide-plus)'],
        ['/settings/webhooks/WEBHOOK', 'main button[aria-haspopup=menu]', '[role=menuitem]:has(.lucide-pencil)'],
        ['/settings/webhooks/WEBHOOK', 'main button[aria-haspopup=menu]', '[role=menuitem]:has(.lucide-key-round)'],
        ['/settings/webhooks/WEBHOOK', 'main button[aria-haspopup=menu]', '[role=menuitem]:has(.lucide-repeat)'],
        ['/devices/hostile', 'main button:not(:has(svg))'],
      ] as const) {
        await openFully(page, stage.dashboard, path);
        for (const opener of openers) await page.locator(opener).last().click();
        await page.locator('[role=dialog], [role=menu]').last().waitFor();
        for (const look of SCHEMES) {
          await turnTo(page, look);
          barriers.push(...(await findBarriers(page, { asPage: false })));
        }
      }
      expect(barriers).to.deep.equal([]);
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
