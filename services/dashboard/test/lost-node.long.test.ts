import type { DeviceView } from '@gateway/contracts/console/views';
import { consoleKeys, deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
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

  const portOf = (key: string) => masterOfKey(space.store.redis, key).options.port;
  const portOfDevice = (device: string) => portOf(deviceKeys(space.store.space, { workspace: 'main', device }).backlog);
  async function findNode() {
    for (;;) {
      space = await openRedisSpace({ url: cluster.url });
      const { space: keys } = space.store;
      const own = [...Object.values(consoleKeys(keys)), workspaceKeys(keys, 'main').devices];
      const names = own.filter((key): key is string => typeof key === 'string');
      const free = cluster.shards.find(({ master }) => names.every((key) => portOf(key) !== master.port));
      if (free) return free.master;
      await space.close();
    }
  }

  it('shows all devices, one on that node without what is not known of it, also live', async () => {
    const master = await findNode();
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
