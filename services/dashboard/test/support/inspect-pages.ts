import { listSends } from '@gateway/store/sends/listing/list-sends';
import { listWebhooks } from '@gateway/store/webhooks/webhooks';
import { eventually } from '@gateway/testkit/eventually';
import type { Page } from 'playwright-core';
import { findBarriers, findTurned, findUnspoken, type Look, overflowOf } from './browser-page.js';
import type { TestDashboard } from './test-dashboard.js';

/** Of a phone, a tablet and a desk. */
const WIDTHS = [320, 768, 1440];

/** Every page there is, with something on it after `fillConsole`. A new one belongs here. */
export const PAGES = [
  ...['/sign-in', '/overview', '/devices', '/devices/hostile', '/devices/brand-new'],
  ...['/devices/hostile/history', '/devices/brand-new/history'],
  ...['/messages', '/messages?status=failed', '/messages/MESSAGE', '/messages/new', '/messages/new?again=MESSAGE'],
  ...['/opt-outs', '/settings/webhooks', '/settings/webhooks/WEBHOOK'],
  ...['/settings/api', '/settings/users', '/settings/sessions', '/settings/audit'],
];

/** In a path `MESSAGE` stands for the newest send, and `WEBHOOK` for the first webhook. */
export async function addressOf({ store, origin }: TestDashboard, path: string): Promise<string> {
  const [newest] = path.includes('MESSAGE') ? (await listSends(store, 'main', { limit: 1 })).sends : [];
  const [first] = path.includes('WEBHOOK') ? await listWebhooks(store, 'main') : [];
  const shown = path.replace('MESSAGE', newest?.send.messageId ?? '').replace('WEBHOOK', first?.id ?? '');
  return `${origin}/console${shown}`;
}

/** Opens a page and waits until all of it is there. */
export async function openFully(page: Page, dashboard: TestDashboard, path: string): Promise<void> {
  await page.goto(await addressOf(dashboard, path));
  await waitUntilShown(page);
}

async function waitUntilShown(page: Page): Promise<void> {
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' });
}

/** Follows a link of the console to a page, as people do, and waits until all of it is there: a quarter of the work of loading it anew. */
export async function followTo(page: Page, dashboard: TestDashboard, path: string): Promise<void> {
  const address = JSON.stringify(await addressOf(dashboard, path));
  await page.evaluate(`__TSR_ROUTER__.history.push(${address}.slice(location.origin.length))`);
  const isThere = `(({ status, location, resolvedLocation }) => status === 'idle' && document.URL === ${address} &&
    location.href === resolvedLocation.href)(__TSR_ROUTER__.state)`;
  await eventually(() => page.evaluate<boolean>(isThere), { what: path });
  await waitUntilShown(page);
}

/**
 * Whether nothing moves; what does is brought to its end. What goes on for ever, such as the dot of a state, is halted: it would be
 * drawn anew all the time that one looks.
 */
const STILL = `document.getAnimations().filter((each) => each.playState !== 'paused').map((each) =>
  each.effect.getTiming().iterations === Infinity ? each.pause() : each.finish()).length === 0`;

/** Turns a page that is open into another look, and waits until it is: what is on its way has the colours of what is behind it. */
export async function turnTo(page: Page, { width, scheme }: Required<Omit<Look, 'language'>>): Promise<void> {
  await page.setViewportSize({ width, height: 800 });
  await page.emulateMedia({ colorScheme: scheme });
  const isTurned = `document.documentElement.dataset.mantineColorScheme === '${scheme}' && ${STILL}`;
  await eventually(() => page.evaluate<boolean>(isTurned), { what: 'the end of all animations' });
}

/**
 * By the path of a page, what keeps people from using it: barriers and what screen readers have no words for, in each of these
 * looks, and pixels that it is too wide in any width.
 */
export async function inspectPages(
  page: Page,
  dashboard: TestDashboard,
  looks: readonly Required<Omit<Look, 'language'>>[],
  { pages = PAGES, widths = WIDTHS }: { pages?: readonly string[]; widths?: readonly number[] } = {},
): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  const noteOverflow = async (path: string, width: number) => {
    const overflow = await overflowOf(page);
    if (overflow > 0) found[`${path} ${width}`] = { overflow };
  };
  // How wide it is does not depend on colours.
  const others = widths.filter((width) => !looks.some((look) => look.width === width));
  for (const path of pages) {
    await followTo(page, dashboard, path);
    for (const look of looks) {
      await turnTo(page, look);
      await noteOverflow(path, look.width);
      const barriers = await findBarriers(page, { asPage: true });
      const unspoken = await findUnspoken(page);
      const turned = await findTurned(page);
      if (barriers.length + unspoken.length + turned.length > 0)
        found[`${path} ${Object.values(look)}`] = { barriers, unspoken, turned };
    }
    for (const width of others) {
      await turnTo(page, { scheme: looks[0]!.scheme, width });
      await noteOverflow(path, width);
    }
  }
  return found;
}
