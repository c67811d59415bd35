import type { DeviceView } from '@gateway/contracts/console/views';
import { consoleKeys, deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { openSpaceBesideNode, portOf, type RedisSpace } from '@gateway/testkit/redis-space';

import { linkDevice } from '../../api/test/support/device-owner.js';
import { openStream } from './support/live-stream.js';
import { startTestDashboard, type TestDashboard } from './support/test-dashboard.js';

const WITHIN = { everyMs: 200, timeoutMs: 40_000 };

describe('the console without a node of a Redis Cluster that has none of its own keys', () => {
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

  const portOfDevice = (device: string) =>
    portOf(space, deviceKeys(space.store.space, { workspace: 'main', device }).backlog);

  it('shows all devices, one on that node without what is not known of it, also live', async () => {
    const { master, ...opened } = await openSpaceBesideNode(cluster, (keys) => [
      ...[consoleKeys(keys).users, workspaceKeys(keys, 'main').devices],
    ]);
    ({ space } = opened);
    dashboard = await startTestDashboard(space);
    const names = Array.from({ length: 100 }, (_, i) => `device-${i}`);
    const away = names.find((name) => portOfDevice(name) === master.port)!;
    const here = names.find((name) => portOfDevice(name) !== master.port)!;
    for (const device of [away, here]) await linkDevice(space.store, { workspace: 'main', device });
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
