import type { Store } from '@gateway/store/core/store';
import { listSends } from '@gateway/store/sends/listing/list-sends';
import { listWebhooks } from '@gateway/store/webhooks/webhooks';
import { createApiToken } from '@gateway/store/workspace/api-tokens';
import type { Page } from 'playwright-core';
import { linkDevice } from '../../../api/test/support/device-owner.js';
import { findBarriers, findUnspoken, overflowOf } from './browser-page.js';
import { makeSend } from './make-send.js';
import { makeWebhook } from './make-webhook.js';
import type { TestDashboard } from './test-dashboard.js';

/** Every page there is, with something on it after `fillConsole`. A new one belongs here. */
export const PAGES = [
  ...['/sign-in', '/overview', '/devices', '/devices/hostile', '/devices/brand-new'],
  ...['/devices/hostile/history', '/devices/brand-new/history'],
  ...['/messages', '/messages?status=failed', '/messages/MESSAGE', '/messages/new', '/messages/new?again=MESSAGE'],
  ...['/settings/webhooks', '/settings/webhooks/WEBHOOK'],
  ...['/settings/api', '/settings/users', '/settings/sessions', '/settings/audit'],
];

/** A device, a send and a token, with names that try to be more than that. */
export async function fillConsole(store: Store): Promise<void> {
  const owner = await linkDevice(store, { workspace: 'main', device: 'hostile' });
  const name = '<img src=x onerror=alert(1)>\u202Egnp';
  await owner.observe({ status: 'connected', phone: '447700900123', name }, 'linked');
  await makeSend(store, owner, { count: 50, text: name });
  const hostile = { description: name, devices: ['hostile'] };
  await makeWebhook(store, {
    url: 'https://hooks.example.com/x',
    settings: hostile,
    answers: [200, 500],
    isFailing: true,
  });
  await createApiToken(store, 'main', { name: '=HYPERLINK("https://evil.example")\u202E', device: 'hostile' });
}

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
