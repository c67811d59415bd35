import type { DeviceAddress } from '@gateway/contracts/ids';
import {
  deviceKeys,
  tokenIndexKey,
  tokenIndexPartKey,
  workspaceKeys,
  workspacesKey,
} from '@gateway/contracts/redis-keys';
import { masterNodes, masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from './support/device-owner.js';
import { startTestApi, type TestApi } from './support/test-api.js';

const PHONE = '447700900001';
const WITHIN = { everyMs: 200 };
/** Every node has some of their shards. */
const DEVICES = Array.from({ length: 8 }, (_, i) => `device-${i}`);

describe('the API on a Redis Cluster, where one node is no good', () => {
  let cluster: RedisCluster;
  let space: RedisSpace;
  let api: TestApi;
  let workspace: string;
  /** By device. */
  let tokens: Map<string, string>;

  const portOf = (key: string) => masterOfKey(space.store.redis, key).options.port!;
  const nodeOf = (device: string) => portOf(deviceKeys(space.store.space, { workspace, device }).backlog);
  /** Has what the whole installation, and the workspace, need. */
  const home = () => portOf(tokenIndexKey(space.store.space));

  /** Whose part of the list of tokens lies there, or elsewhere. */
  async function tokenFor({ workspace, device }: DeviceAddress, isThere = true): Promise<string> {
    for (;;) {
      const { token, value } = await createApiToken(space.store, workspace, { name: 'test', device });
      if ((portOf(tokenIndexPartKey(space.store.space, token.keyId)) === home()) === isThere) return value;
    }
  }

  before(async () => {
    cluster = await startRedisCluster({ replicas: 0 });
    // The list of workspaces, that of tokens, the keys of the workspace, and of its tokens, on one node.
    for (;;) {
      space = await openRedisSpace({ url: cluster.url });
      expect(masterNodes(space.store.redis)).to.have.length(3);
      if (portOf(workspacesKey(space.store.space)) === home()) break;
      await space.close();
    }
    const isHere = (name: string) => portOf(workspaceKeys(space.store.space, name).devices) === home();
    workspace = Array.from({ length: 100 }, (_, i) => `shop-${i}`).find(isHere)!;
    await createWorkspace(space.store, workspace);
    api = await startTestApi(space);
    tokens = new Map();
    for (const device of DEVICES) {
      const address: DeviceAddress = { workspace, device };
      await linkDevice(space.store, address);
      tokens.set(device, await tokenFor(address));
    }
    expect(new Set(DEVICES.map(nodeOf)).size, 'nodes with devices').to.equal(3);
  });
  after(async () => {
    await api.close();
    await space.close();
    await cluster.stop();
  });

  /** Of one send for each device that lies there, or of the others. */
  async function send(where: (device: string) => boolean): Promise<number[]> {
    const answers = DEVICES.filter(where).map((device) =>
      api.call('POST', '/send', { token: tokens.get(device)!, json: { to: PHONE, text: 'hello' } }),
    );
    return [...new Set((await Promise.all(answers)).map(({ status }) => status))];
  }

  it('accepts for devices whose node has room, while another is full', async () => {
    const full = DEVICES.map(nodeOf).find((port) => port !== home())!;
    const url = cluster.shards.find(({ master }) => master.port === full)!.master.url;
    await askServer(url, 'CONFIG', 'SET', 'maxmemory', 100_000);
    await eventually(async () => (await send((device) => nodeOf(device) === full)).join() === '503', WITHIN);
    expect(await send((device) => nodeOf(device) !== full)).to.deep.equal([202]);
    await askServer(url, 'CONFIG', 'SET', 'maxmemory', 0);
    await eventually(async () => (await send((device) => nodeOf(device) === full)).join() === '202', WITHIN);
  });

  it('accepts for devices of the others while one without a replica is gone', async () => {
    const gone = DEVICES.map(nodeOf).find((port) => port !== home())!;
    const { master } = cluster.shards.find(({ master }) => master.port === gone)!;
    const isThere = new Map(DEVICES.map((device) => [device, nodeOf(device) !== gone]));
    await master.kill();
    try {
      await eventually(async () => (await send((device) => isThere.get(device)!)).join() === '202', WITHIN);
      expect(await send((device) => !isThere.get(device))).to.deep.equal([503]);
      // As Redis is asked how full it is anew.
      for (let i = 0; i < 3; i++) expect(await send((device) => isThere.get(device)!)).to.deep.equal([202]);
    } finally {
      master.restart();
    }
    await eventually(async () => (await send((device) => !isThere.get(device))).join() === '202', WITHIN);
  });

  it('knows the tokens of others, seen for the first time, while the one with the lists of workspaces and of all tokens is gone', async () => {
    // The client of this test may not have heard yet of the one that came back.
    await eventually(async () => masterNodes(space.store.redis).length === 3, WITHIN);
    const isElsewhere = (key: string) => portOf(key) !== home();
    const { space: keys } = space.store;
    const name = Array.from({ length: 100 }, (_, i) => `shop-${i}`).find((name) =>
      isElsewhere(workspaceKeys(keys, name).devices),
    )!;
    await createWorkspace(space.store, name);
    const device = DEVICES.find((device) => isElsewhere(deviceKeys(keys, { workspace: name, device }).backlog))!;
    await linkDevice(space.store, { workspace: name, device });
    const token = await tokenFor({ workspace: name, device }, false);
    const { master } = cluster.shards.find(({ master }) => master.port === home())!;
    const another = await startTestApi(space);
    await master.kill();
    try {
      const json = { to: PHONE, text: 'hello' };
      await eventually(async () => (await another.call('POST', '/send', { token, json })).status === 202, WITHIN);
      for (let i = 0; i < 3; i++) expect((await another.call('POST', '/send', { token, json })).status).to.equal(202);
    } finally {
      master.restart();
      await another.close();
    }
    await eventually(async () => (await send(() => true)).join() === '202', WITHIN);
  });
});
