import { eventually } from '@gateway/testkit/eventually';
import { useGateway } from '@gateway/testkit/use-gateway';
import { expect } from 'chai';
import { BUILT_PAGE, useBrowser } from '../support/browser-page.js';
import { startTestDashboard, type TestDashboard } from '../support/test-dashboard.js';

const ACCOUNT = '447700900700';
const LIST = 120;
const NUMBERS = Array.from({ length: LIST }, (_, index) => String(447700910000 + index));
/** The next one is to be found and killed in mid-list, also on a machine that needs seconds to show a page. */
const QUICK = { SESSION_TTL_MS: '2000', PACE_PER_MINUTE: '240', PACE_BURST: '5' };

describe('the page of a send, while the senders are killed', () => {
  const fixture = useGateway({ senders: 2, env: QUICK });
  const browser = useBrowser();
  let dashboard: TestDashboard;
  before(async () => {
    await fixture.gateway.link(ACCOUNT);
    const apiUrl = new URL(fixture.gateway.baseUrl).origin;
    dashboard = await startTestDashboard(fixture.space, { apiUrl, pageFolder: BUILT_PAGE });
  });
  after(() => dashboard.close());

  it('goes on with the next one, says what is wrong while there is none, and ends with each recipient once', async () => {
    const { gateway } = fixture;
    const messageId = await fixture.send(NUMBERS, 'News for all on the list.');
    const page = await browser.open(dashboard, `/messages/${messageId}`, { role: 'operator' });
    const device = await page.context().newPage();
    await device.goto(`${dashboard.origin}/console/devices/default`);
    await device.getByRole('heading', { name: 'Connected' }).waitFor();
    const countOf = async (status: string) => {
      const text = await page.getByRole('button', { name: new RegExp(`^${status} `) }).innerText();
      return Number(text.replaceAll(/\D/g, ''));
    };
    const settled = async () => LIST - (await countOf('Queued'));
    const waitUntil = (recipients: number) =>
      eventually(async () => (await settled()) >= recipients, { what: `${recipients} on the page` });

    await waitUntil(5);
    const first = await gateway.findOwner();
    await first!.kill();
    // What the page shows comes later than what has happened: the first may have done more than it says.
    const left = await eventually(async () => {
      const owner = await gateway.findOwner();
      return owner !== first && owner;
    });
    await waitUntil((await settled()) + 5);
    await left.kill();
    await device.getByRole('heading', { name: 'Connecting' }).waitFor();
    const stopped = await settled();
    expect(stopped).to.be.below(LIST);
    // Everything is still there, and is live: it is the senders that are away, not the console.
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await settled()).to.be.at.least(stopped);

    await gateway.addSender();
    await device.getByRole('heading', { name: 'Connected' }).waitFor();
    await eventually(async () => (await settled()) === LIST, { what: 'the end of the list on the page' });
    expect(fixture.shown(ACCOUNT).sort()).to.deep.equal(NUMBERS);
    await page.getByRole('button', { name: 'Cancel the rest' }).waitFor({ state: 'detached' });
  });
});
