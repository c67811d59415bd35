import { parseMessageId } from '@gateway/contracts/ids';
import { createOneTimeLink } from '@gateway/store/console/one-time-links';
import { recordResults } from '@gateway/store/sends/change-send';
import { listSends } from '@gateway/store/sends/listing/list-sends';
import { expect } from 'chai';
import { type DeviceOwner, linkDevice } from '../../../api/test/support/device-owner.js';
import { BUILT_PAGE, useBrowser } from '../support/browser-page.js';
import { makeSend } from '../support/make-send.js';
import { measureSlowness } from '../support/measure-slowness.js';
import { useTestDashboard } from '../support/test-dashboard.js';

const MOST_FOR_A_STATE_MS = 500;
const MOST_FOR_PROGRESS_MS = 1_500;
/** On a machine of its own half of it. */
const MOST_ON_A_PHONE_MS = 10_000;
/** How many times as long it takes for the work of the page. */
const PHONE_SLOWNESS = 4;
/** "Slow 4G" of the developer tools, bytes per second. */
const SLOW_4G = { offline: false, latency: 150, downloadThroughput: 180_000, uploadThroughput: 84_000 };

describe('how soon the page of the console shows', () => {
  const stage = useTestDashboard({ pageFolder: BUILT_PAGE });
  const browser = useBrowser();
  let owner: DeviceOwner;
  before(async () => {
    owner = await linkDevice(stage.space.store, { workspace: 'main', device: 'shop' });
    await makeSend(stage.space.store, owner, { count: 100, text: 'hello' });
  });

  /** The best of a few: what the machine does besides is none of it. */
  const bestOf = async (rounds: (() => Promise<unknown>)[]) => {
    const times: number[] = [];
    for (const round of rounds) {
      const startMs = performance.now();
      await round();
      times.push(performance.now() - startMs);
    }
    return Math.min(...times);
  };

  it('the state of a device: within half a second', async () => {
    const page = await browser.open(stage.dashboard, '/devices/shop');
    await page.getByRole('heading', { name: 'Connected' }).waitFor();
    const change = (status: 'connecting' | 'connected', shown: string) => async () => {
      await owner.observe({ status, ...(status === 'connected' && { phone: '447700900123' }) });
      await page.getByRole('heading', { name: shown }).waitFor();
    };
    const [away, back] = [change('connecting', 'Connecting'), change('connected', 'Connected')];
    expect(await bestOf([away, back, away, back])).to.be.below(MOST_FOR_A_STATE_MS);
  });

  it('the progress of a send: within one and a half seconds', async () => {
    const { sends } = await listSends(stage.space.store, 'main', { limit: 1 });
    const { messageId } = sends[0]!.send;
    const { tag } = parseMessageId(messageId)!;
    const page = await browser.open(stage.dashboard, `/messages/${messageId}`);
    await page.getByRole('button', { name: 'Queued 40' }).waitFor();
    const reach = (recipient: number, left: number) => async () => {
      const events = [{ recipient, part: 0, event: 'read' as const }];
      await recordResults(stage.space.store, owner.ownership, { tag, nowMs: Date.now(), events });
      await page.getByRole('button', { name: `Queued ${left}` }).waitFor();
    };
    const rounds = [reach(60, 39), reach(61, 38), reach(62, 37)];
    expect(await bestOf(rounds)).to.be.below(MOST_FOR_PROGRESS_MS);
  });

  it('the overview to a phone that is slow, on a slow network, from the link that signs in', async () => {
    const page = await browser.open(stage.dashboard, '/sign-in', { role: 'none', width: 360 });
    await page.goto('about:blank');
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.clearBrowserCache');
    await session.send('Network.emulateNetworkConditions', SLOW_4G);
    // The phone is as fast as ever, and the machine may be slow already.
    await session.send('Emulation.setCPUThrottlingRate', { rate: Math.max(1, PHONE_SLOWNESS / measureSlowness()) });
    const secret = await createOneTimeLink(stage.dashboard.store, 'admin');
    const signIn = async () => {
      await page.goto(`${stage.dashboard.origin}/console/sign-in#link=${secret}`, { waitUntil: 'commit' });
      await page.locator('dl').waitFor();
    };
    expect(await bestOf([signIn])).to.be.below(MOST_ON_A_PHONE_MS);
  });
});
