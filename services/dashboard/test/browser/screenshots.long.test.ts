import type { ObservedState } from '@gateway/contracts/devices/device-state';
import { makeAttemptId } from '@gateway/contracts/ids';
import { requestLink } from '@gateway/store/devices/device-state';
import { createApiToken } from '@gateway/store/workspace/api-tokens';
import { linkDevice, ownDevice } from '../../../api/test/support/device-owner.js';
import { BUILT_PAGE, shoot, useBrowser } from '../support/browser-page.js';
import { openFully } from '../support/inspect-pages.js';
import { makeSend } from '../support/make-send.js';
import { makeWebhook } from '../support/make-webhook.js';
import { useTestDashboard } from '../support/test-dashboard.js';

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
  { name: 'webhook', path: '/settings/webhooks/WEBHOOK' },
  { name: 'webhooks-320-ar-dark', path: '/settings/webhooks', language: 'ar', scheme: 'dark', width: 320 },
  { name: 'tokens-dark', path: '/settings/api', scheme: 'dark' },
] as const;
const ORDER = { text: 'Your order is ready.' };

describe('the screenshots of the console', () => {
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
    for (let minute = 58; minute > 0; minute -= 2) {
      const count = 30 + 25 * Math.sin(minute / 6) + (minute % 5) * 4;
      await makeSend(store, books, { ...ORDER, count: Math.round(count), nowMs: Date.now() - minute * 60_000 });
    }
    await makeSend(store, books, { ...ORDER, count: 40, finishAtMs: Date.now() - 360_000 });
    await makeSend(store, books, { count: 3_000, text: 'We are open on Sunday, with readings from four.' });
    await connect('deliveries', '447700900101', 'Harbour Deliveries', { reason: 'awaiting_backlog' });
    await connect('events', '447700900102', 'Harbour Events');
    const gone = await linkDevice(store, inMain('newsletter'));
    await gone.observe({ status: 'disconnected', reason: 'logged_out' }, 'unlinked');
    const support = await ownDevice(store, inMain('support'));
    await requestLink(store, inMain('support'), { attemptId: makeAttemptId(), method: 'qrCode', forceNew: false });
    const code = `2@${'Zm9yIHRoZSBwaG9uZSBhbG9uZQ'.repeat(8)}`;
    await support.observe({ status: 'connecting', reason: 'linking', code, codeExpiresAtMs: Date.now() + 60_000 });
    const shop = { description: 'Web shop' };
    await makeWebhook(store, {
      url: 'https://shop.example.com/hooks/messages',
      settings: shop,
      answers: [200, 503, 503, 200, 200],
    });
    const desk = { description: 'Help desk', types: ['message.received'], devices: ['support'] };
    await makeWebhook(store, {
      url: 'https://desk.example.com/in',
      settings: desk,
      answers: [200, 503, 503],
      isFailing: true,
    });
    await makeWebhook(store, { url: 'https://new.example.com/hooks' });
    await createApiToken(store, 'main', { name: 'web shop' });
    await createApiToken(store, 'main', { name: 'ticket machine', device: 'events', scopes: ['send', 'read'] });
  });

  for (const { name, path, ...look } of SHOTS) {
    it(`shows ${name}`, async () => {
      const page = await browser.open(stage.dashboard, '/devices', look);
      await page.evaluate("sessionStorage.setItem('console-password-later', '1')");
      await openFully(page, stage.dashboard, path);
      await shoot(page, name);
    });
  }
});
