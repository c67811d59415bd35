import { listSends } from '@gateway/store/sends/listing/list-sends';
import { listWebhooks } from '@gateway/store/webhooks/webhooks';
import type { Page } from 'playwright-core';
import { findBarriers, findUnspoken, overflowOf } from './browser-page.js';
import type { TestDashboard } from './test-dashboard.js';

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
  await page.getByRole('heading', { level: 1 }).first().waitFor();
  await page.locator('.mantine-Skeleton-root').first().waitFor({ state: 'detached' });
}

/** By the path of a page, what keeps people from using it: barriers, what screen readers have no words for, and pixels that it is too wide. */
export async function inspectPages(page: Page, dashboard: TestDashboard): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const path of PAGES) {
    await openFully(page, dashboard, path);
    const barriers = await findBarriers(page, { asPage: true });
    const [unspoken, overflow] = [await findUnspoken(page), await overflowOf(page)];
    if (barriers.length + unspoken.length > 0 || overflow > 0) found[path] = { barriers, unspoken, overflow };
  }
  return found;
}
