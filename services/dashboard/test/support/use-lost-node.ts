import { consoleKeys, deviceKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { openSpaceBesideNode, portOf, type RedisSpace } from '@gateway/testkit/redis-space';
import { linkDevice } from '../../../api/test/support/device-owner.js';
import { startTestDashboard, type TestDashboard } from './test-dashboard.js';

export interface LostNode {
  dashboard: TestDashboard;
  /** A master of a Redis Cluster that has nothing of the console, and one of two devices: `away`, and not `here`. */
  master: RedisProcess;
  away: string;
  here: string;
}

/** A console on a Redis Cluster that can do without one of its masters. */
export function useLostNode(options: Parameters<typeof startTestDashboard>[1] = {}): LostNode {
  const stage = {} as LostNode;
  let cluster: RedisCluster;
  let space: RedisSpace;
  before(async () => {
    cluster = await startRedisCluster();
    const { master, ...opened } = await openSpaceBesideNode(cluster, (keys) => [
      ...[consoleKeys(keys).users, workspaceKeys(keys, 'main').devices],
    ]);
    ({ space } = opened);
    const dashboard = await startTestDashboard(space, options);
    const names = Array.from({ length: 100 }, (_, i) => `device-${i}`);
    const portOfDevice = (device: string) =>
      portOf(space, deviceKeys(space.store.space, { workspace: 'main', device }).backlog);
    const away = names.find((name) => portOfDevice(name) === master.port)!;
    const here = names.find((name) => portOfDevice(name) !== master.port)!;
    for (const device of [away, here]) await linkDevice(space.store, { workspace: 'main', device });
    Object.assign(stage, { dashboard, master, away, here });
  });
  after(async () => {
    await stage.dashboard?.close();
    await space?.close();
    await cluster.stop();
  });
  return stage;
}
