import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { BUILT_PAGE, findBarriers, useBrowser } from '../support/browser-page.js';
import { fillConsole } from '../support/fill-console.js';
import { inspectPages, openFully } from '../support/inspect-pages.js';
import { useTestDashboard } from '../support/test-dashboard.js';

const LOOKS = [
  { language: 'en', scheme: 'light', width: 320 },
  { language: 'en', scheme: 'dark', width: 1440 },
  { language: 'ar', scheme: 'light', width: 768 },
] as const;

/** But for what goes on for ever, such as the dot of a state. */
const STILL = 'document.getAnimations().every((each) => each.effect.getTiming().iterations === Infinity)';

describe('every page of the console, in every look', () => {
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE, api: {} });
  const browser = useBrowser();
  before(() => fillConsole(stage.space.store));

  for (const look of LOOKS) {
    it(`has no barrier that axe finds, and fits: ${Object.values(look).join(', ')}`, async () => {
      const page = await browser.open(stage.dashboard, '/devices', look);
      expect(await inspectPages(page, stage.dashboard)).to.deep.equal({});
    });

    it(`has none in its dialogs either: ${Object.values(look).join(', ')}`, async () => {
      const page = await browser.open(stage.dashboard, '/devices', look);
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
        // What is still on its way in has the colours of what is behind it.
        const isStill = () => page.evaluate<boolean>(STILL);
        await eventually(isStill, { what: 'the end of all animations' });
        barriers.push(...(await findBarriers(page, { asPage: false })));
      }
      expect(barriers).to.deep.equal([]);
    });
  }
});
