import { consoleKeys, deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { openSpaceBesideNode, portOf, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from '../../../api/test/support/device-owner.js';
import { BUILT_PAGE, findBarriers, useBrowser } from '../support/browser-page.js';
import { startTestDashboard, type TestDashboard } from '../support/test-dashboard.js';

describe('the page of devices without a node of a Redis Cluster', () => {
  const browser = useBrowser();
  let cluster: RedisCluster;
  let space: RedisSpace;
  let dashboard: TestDashboard;
  before(async () => {
    cluster = await startRedisCluster();
  });
  after(async () => {
    await dashboard?.close();
    await space?.close();
    await cluster.stop();
  });

  it('shows what is not known of a device, and of others what they are', async () => {
    const { master, ...opened } = await openSpaceBesideNode(cluster, (keys) => [
      ...[consoleKeys(keys).users, workspaceKeys(keys, 'main').devices],
    ]);
    ({ space } = opened);
    dashboard = await startTestDashboard(space, { pageFolder: BUILT_PAGE });
    const portOfDevice = (device: string) =>
      portOf(space, deviceKeys(space.store.space, { workspace: 'main', device }).backlog);
    const names = Array.from({ length: 100 }, (_, i) => `device-${i}`);
    const away = names.find((name) => portOfDevice(name) === master.port)!;
    const here = names.find((name) => portOfDevice(name) !== master.port)!;
    for (const device of [away, here]) await linkDevice(space.store, { workspace: 'main', device });
    const page = await browser.open(dashboard, '/devices');
    const rowOf = (device: string) => page.getByRole('row').filter({ hasText: device });
    await rowOf(away).getByText('Connected').waitFor();
    await master.kill();
    try {
      await rowOf(away).getByText('Connecting').waitFor({ timeout: 40_000 });
      expect(await rowOf(here).getByText('Connected').count()).to.equal(1);
      expect(await findBarriers(page, { asPage: true })).to.deep.equal([]);
      await page.goto(`${dashboard.origin}/console/devices/${away}`);
      const failure = page.getByRole('alert').first();
      await failure.getByRole('button', { name: 'Try again' }).waitFor();
      browser.allowErrors(/503/);
    } finally {
      master.restart();
    }
  });
});
