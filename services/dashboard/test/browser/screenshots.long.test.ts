import { BUILT_PAGE, shoot, useBrowser } from '../support/browser-page.js';
import { fillShop } from '../support/fill-console.js';
import { openFully } from '../support/inspect-pages.js';
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

describe('the screenshots of the console', () => {
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE });
  const browser = useBrowser();
  before(() => fillShop(stage.space.store));

  for (const { name, path, ...look } of SHOTS) {
    it(`shows ${name}`, async () => {
      const page = await browser.open(stage.dashboard, '/devices', look);
      await page.evaluate("sessionStorage.setItem('console-password-later', '1')");
      await openFully(page, stage.dashboard, path);
      await shoot(page, name);
    });
  }
});
