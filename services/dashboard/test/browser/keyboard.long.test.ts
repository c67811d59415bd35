import { expect } from 'chai';
import { BUILT_PAGE, useBrowser } from '../support/browser-page.js';
import { fillConsole } from '../support/fill-console.js';
import { openFully, PAGES } from '../support/inspect-pages.js';
import { useTestDashboard } from '../support/test-dashboard.js';

/** More than any page has places for the focus. */
const MOST_TABS = 400;

/** Where the focus is, whether that can be seen, and whether it has been there before. `undefined`: it has left the page. */
const LOOK = `(() => {
  const element = document.activeElement;
  if (!element || element === document.body || element.tabIndex < 0) return undefined;
  const styleOf = (each) => {
    const { outline, boxShadow, borderColor, backgroundColor, transform } = getComputedStyle(each);
    return [outline, boxShadow, borderColor, backgroundColor, transform].join();
  };
  // What is drawn for it may be beside or around it.
  const near = [element, element.parentElement, element.nextElementSibling, element.parentElement?.parentElement].filter(Boolean);
  const isKnown = element.dataset.wasHere !== undefined;
  element.dataset.wasHere = '';
  const focused = near.map(styleOf);
  element.blur();
  const isSeen = near.map(styleOf).some((style, i) => style !== focused[i]);
  element.focus({ focusVisible: true, preventScroll: true });
  const { top, bottom, left, right } = element.getBoundingClientRect();
  const isInWindow = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
  return { name: element.outerHTML.slice(0, 160), isKnown, isSeen, isInWindow };
})()`;

/** A border that is still on its way to its colour has the one of before. Rules that are made this way are no matter of the page's policy. */
const BE_STILL = `(() => {
  const rules = new CSSStyleSheet();
  rules.replaceSync('* { transition: none !important }');
  document.adoptedStyleSheets.push(rules);
})()`;

/** What a mouse reaches and the focus did not. Choices of one kind are reached by arrows. */
const MISSED = `[...document.querySelectorAll('a[href], button, input, select, textarea, summary')]
  .filter((each) => each.checkVisibility({ visibilityProperty: true }) && !each.disabled)
  .filter((each) => each.type !== 'radio' && each.tabIndex >= 0 && each.dataset.wasHere === undefined)
  .map((each) => each.outerHTML.slice(0, 160))`;

interface Place {
  name: string;
  isKnown: boolean;
  isSeen: boolean;
  isInWindow: boolean;
}

describe('the console by the keyboard alone', () => {
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE, api: {} });
  const browser = useBrowser();
  before(() => fillConsole(stage.space.store));

  for (const look of [{ language: 'en' }, { language: 'ar', width: 320 }] as const) {
    it(`reaches all there is on every page, and shows where it is: ${Object.values(look)}`, async () => {
      const page = await browser.open(stage.dashboard, '/devices', look);
      const found: Record<string, unknown> = {};
      for (const path of PAGES) {
        await openFully(page, stage.dashboard, path);
        await page.evaluate(BE_STILL);
        const places: Place[] = [];
        for (let tabs = 0; tabs < MOST_TABS; tabs++) {
          // A field may have the focus from the start.
          const place = await page.evaluate<Place | undefined>(LOOK);
          if (place?.isKnown || (!place && places.length > 0)) break;
          if (place) places.push(place);
          await page.keyboard.press('Tab');
        }
        const hidden = places.filter(({ isSeen, isInWindow }) => !isSeen || !isInWindow).map(({ name }) => name);
        const missed = await page.evaluate<string[]>(MISSED);
        if (places.length < 3 || hidden.length + missed.length > 0)
          found[path] = { hidden, missed, count: places.length };
      }
      expect(found).to.deep.equal({});
    });
  }
});
