import { useGateway } from '@gateway/testkit/use-gateway';
import { BUILT_PAGE, type Look, shoot, useBrowser } from '../support/browser-page.js';
import { fillShop } from '../support/fill-console.js';
import { openFully } from '../support/inspect-pages.js';
import { startTestDashboard, type TestDashboard, useTestDashboard } from '../support/test-dashboard.js';

const SHOTS: readonly (Look & { name: string; path: string; shows?: string })[] = [
  { name: 'sign-in', path: '/sign-in' },
  { name: 'overview', path: '/overview' },
  { name: 'overview-ar-dark', path: '/overview', language: 'ar', scheme: 'dark' },
  { name: 'devices', path: '/devices' },
  { name: 'link', path: '/devices/support' },
  { name: 'link-320-dark', path: '/devices/support', scheme: 'dark', width: 320 },
  { name: 'messages-768-ar', path: '/messages', language: 'ar', width: 768 },
  { name: 'message', path: '/messages/MESSAGE', width: 1440 },
  { name: 'message-ar-dark', path: '/messages/MESSAGE', language: 'ar', scheme: 'dark' },
  { name: 'new-message', path: '/messages/new?again=MESSAGE', shows: 'Send to 17 people' },
  { name: 'webhook', path: '/settings/webhooks/WEBHOOK' },
  { name: 'webhooks-320-ar-dark', path: '/settings/webhooks', language: 'ar', scheme: 'dark', width: 320 },
  { name: 'tokens-dark', path: '/settings/api', scheme: 'dark' },
];

describe('the screenshots of the console', () => {
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE });
  const browser = useBrowser();
  before(() => fillShop(stage.space.store));

  for (const { name, path, shows, ...look } of SHOTS) {
    it(`shows ${name}`, async () => {
      const page = await browser.open(stage.dashboard, '/devices', look);
      await page.evaluate("sessionStorage.setItem('console-password-later', '1')");
      await openFully(page, stage.dashboard, path);
      if (shows) await page.getByText(shows).waitFor();
      await shoot(page, name);
    });
  }
});

describe('the screenshot of a simulated phone', () => {
  const fixture = useGateway({ inOneProcess: true });
  const browser = useBrowser();
  let dashboard: TestDashboard;
  before(async () => {
    await fixture.gateway.link('447700900100');
    dashboard = await startTestDashboard(fixture.space, {
      ...{ pageFolder: BUILT_PAGE, simulatorUrl: fixture.simulator.adminUrl },
    });
  });
  after(() => dashboard.close());

  it('shows what has arrived', async () => {
    const people = Array.from({ length: 6 }, (_, index) => String(447700900110 + index));
    const messageId = await fixture.send(people, 'We are open on Sunday, with readings from four.');
    const page = await browser.open(dashboard, `/messages/${messageId}`);
    await page.evaluate("sessionStorage.setItem('console-password-later', '1')");
    await page.reload();
    await page.getByRole('button', { name: 'Read 6', exact: true }).waitFor();
    await page.getByRole('region', { name: 'The phone of this recipient' }).getByText('readings from four').waitFor();
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await shoot(page, 'phone');
  });
});
