import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ObservedState } from '@gateway/contracts/devices/device-state';
import { makeAttemptId } from '@gateway/contracts/ids';
import { ROOT } from '@gateway/scripts/paths';
import { requestLink } from '@gateway/store/devices/device-state';
import { createApiToken } from '@gateway/store/workspace/api-tokens';
import type { Page } from 'playwright-core';
import { linkDevice, ownDevice } from '../../../api/test/support/device-owner.js';
import { BUILT_PAGE, useBrowser } from '../support/browser-page.js';
import { openFully } from '../support/inspect-pages.js';
import { makeSend } from '../support/make-send.js';
import { useTestDashboard } from '../support/test-dashboard.js';

/** `npm run test:browser` takes them from there to `docs/console`. */
const FOLDER = join(ROOT, 'build/console');

const SHOTS = [
  { name: 'sign-in', path: '/sign-in' },
  { name: 'overview', path: '/overview' },
  { name: 'overview-ar-dark', path: '/overview', language: 'ar', scheme: 'dark' },
  { name: 'devices', path: '/devices' },
  { name: 'link', path: '/devices/support' },
  { name: 'link-320-dark', path: '/devices/support', scheme: 'dark', width: 320 },
  { name: 'messages-768-ar', path: '/messages', language: 'ar', width: 768 },
  { name: 'message', path: '/messages/MESSAGE', width: 1440 },
  { name: 'message-ar-dark', path: '/messages/MESSAGE', language: 'ar', scheme: 'dark' },
  { name: 'new-message', path: '/messages/new?again=MESSAGE' },
  { name: 'tokens-dark', path: '/settings/api', scheme: 'dark' },
] as const;
describe('the screenshots of the console', function () {
  this.timeout(40_000);
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE });
  const browser = useBrowser();
  before(async () => {
    const { store } = stage.space;
    const inMain = (device: string) => ({ workspace: 'main', device });
    const connect = async (device: string, phone: string, name: string, more: Partial<ObservedState> = {}) => {
      const owner = await linkDevice(store, inMain(device));
      await owner.observe({ status: 'connected', phone, name, ...more }, 'linked');
      return owner;
    };
    const books = await connect('default', '447700900100', 'Harbour Books');
    await makeSend(store, books, { count: 40, text: 'Your order is ready.' });
    await makeSend(store, books, { count: 3_000, text: 'We are open on Sunday, with readings from four.' });
    await connect('deliveries', '447700900101', 'Harbour Deliveries', { reason: 'awaiting_backlog' });
    await connect('events', '447700900102', 'Harbour Events');
    const gone = await linkDevice(store, inMain('newsletter'));
    await gone.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
    const support = await ownDevice(store, inMain('support'));
    await requestLink(store, inMain('support'), { attemptId: makeAttemptId(), method: 'qrCode', forceNew: false });
    const code = `2@${'Zm9yIHRoZSBwaG9uZSBhbG9uZQ'.repeat(8)}`;
    await support.observe({ status: 'connecting', reason: 'linking', code, codeExpiresAtMs: Date.now() + 60_000 });
    await createApiToken(store, 'main', { name: 'web shop' });
    await createApiToken(store, 'main', { name: 'ticket machine', device: 'events', scopes: ['send', 'read'] });
    rmSync(FOLDER, { recursive: true, force: true });
    mkdirSync(FOLDER, { recursive: true });
  });

  for (const { name, path, ...look } of SHOTS) {
    it(`shows ${name}`, async () => {
      const page = await browser.open(stage.dashboard, '/devices', look);
      await page.evaluate("sessionStorage.setItem('console-password-later', '1')");
      await openFully(page, stage.dashboard, path);
      await page.evaluate('document.fonts.ready');
      await shoot(page, join(FOLDER, `${name}.webp`));
    });
  }
});

/** A third of the size of the same as PNG, which is all that Playwright itself makes without loss. */
async function shoot(page: Page, path: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
  writeFileSync(path, Buffer.from(data, 'base64'));
}
