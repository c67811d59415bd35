import type { DeviceView } from '@gateway/contracts/console/views';
import { eventually } from '@gateway/testkit/eventually';
import { openStream } from './support/live-stream.js';
import { useLostNode } from './support/use-lost-node.js';

const WITHIN = { everyMs: 200, timeoutMs: 40_000 };

describe('the console without a node of a Redis Cluster that has none of its own keys', () => {
  const stage = useLostNode();

  it('shows all devices, one on that node without what is not known of it, also live', async () => {
    const { dashboard, master, away, here } = stage;
    const browser = await dashboard.signIn();
    const stream = await openStream(browser, 'devices');
    await master.kill();
    try {
      const isRight = (views: DeviceView[]) =>
        views.find(({ id }) => id === away)?.reason === 'data_unavailable' &&
        views.some(({ id, reason }) => id === here && reason !== 'data_unavailable');
      await stream.wait<DeviceView[]>('devices', isRight);
      await eventually(async () => {
        const { status, body } = await browser.get('/devices');
        return status === 200 && isRight(body.devices as DeviceView[]);
      }, WITHIN);
    } finally {
      master.restart();
    }
    const isBack = (views: DeviceView[]) => views.every(({ reason }) => reason !== 'data_unavailable');
    await stream.wait<DeviceView[]>('devices', isBack);
    stream.close();
  });
});
