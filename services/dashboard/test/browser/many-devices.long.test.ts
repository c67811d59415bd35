import { ensureDevice } from '@gateway/store/devices/devices';
import { expect } from 'chai';
import { BUILT_PAGE, useBrowser } from '../support/browser-page.js';
import { useTestDashboard } from '../support/test-dashboard.js';

const DEVICES = 1_000;
/** Of the server, for all of them; a quiet machine takes a fifth of it. */
const MOST_MS = 1_500;

describe('the page of a thousand devices', function () {
  this.timeout(60_000);
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE });
  const browser = useBrowser();
  before(async () => {
    const devices = Array.from({ length: DEVICES }, (_, index) => `device-${String(index).padStart(4, '0')}`);
    await Promise.all(devices.map((device) => ensureDevice(stage.space.store, { workspace: 'main', device })));
  });

  it('is answered at once, and has the rows of one screen', async () => {
    const operator = await stage.dashboard.signIn('operator');
    const startMs = performance.now();
    expect((await operator.get('/devices')).body.devices).to.have.length(DEVICES);
    expect(performance.now() - startMs).to.be.below(MOST_MS);

    const page = await browser.open(stage.dashboard, '/devices');
    await page.getByText('device-0000').waitFor();
    const rows = page.locator('[role=rowgroup] [role=row]');
    expect(await rows.count()).to.be.within(5, 40);
    expect(await page.locator('[role=table]').getAttribute('aria-rowcount')).to.equal(String(DEVICES + 1));
    await page.evaluate('scrollTo(0, document.body.scrollHeight)');
    await page.getByText(`device-0${DEVICES - 1}`).waitFor();
    expect(await rows.count()).to.be.within(5, 40);
  });
});
