import { expect } from 'chai';
import { BUILT_PAGE, findBarriers, useBrowser } from '../support/browser-page.js';
import { useLostNode } from '../support/use-lost-node.js';

const UNTIL_KNOWN = { timeout: 40_000 };

describe('the page of devices without a node of a Redis Cluster', () => {
  const browser = useBrowser();
  const stage = useLostNode({ pageFolder: BUILT_PAGE });

  it('shows what is not known of a device, and of others what they are', async () => {
    const { dashboard, master, away, here } = stage;
    const page = await browser.open(dashboard, '/devices');
    const rowOf = (device: string) => page.getByRole('row').filter({ hasText: device });
    await rowOf(away).getByText('Connected').waitFor();
    await master.kill();
    try {
      await rowOf(away).getByText('Connecting').waitFor(UNTIL_KNOWN);
      expect(await rowOf(here).getByText('Connected').count()).to.equal(1);
      expect(await findBarriers(page, { asPage: true })).to.deep.equal([]);
      await page.goto(`${dashboard.origin}/console/devices/${away}`);
      await page.getByRole('alert').first().getByRole('button', { name: 'Try again' }).waitFor();
      browser.allowErrors(/503/);
    } finally {
      master.restart();
    }
  });
});
