import { API_TOKEN_SCOPES } from '@gateway/contracts/api-token';
import {
  deviceKeys,
  eventWorkspacesKey,
  type KeySpace,
  memberKeys,
  tokenIndexPartKey,
  workspaceKeys,
} from '@gateway/contracts/redis-keys';
import { masterNodes, masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { createApiToken } from '@gateway/store/workspace/tokens/api-tokens';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { linkDevice } from './support/device-owner.js';
import { startTestApi, type TestApi } from './support/test-api.js';

const WITHIN = { everyMs: 200, timeoutMs: 40_000 };
const listOfSenders = (keys: KeySpace) => memberKeys(keys).members;

/** A workspace, a device and a token that have nothing on the node that is lost. */
describe('a workspace that has nothing on the node of a Redis Cluster that is lost', () => {
  let cluster: RedisCluster;
  let space: RedisSpace;
  let api: TestApi;
  before(async () => {
    cluster = await startRedisCluster();
  });
  after(() => cluster.stop());
  beforeEach(async () => {
    space = await openRedisSpace({ url: cluster.url });
    api = await startTestApi(space);
  });
  afterEach(async () => {
    await api.close();
    await space.close();
  });

  /** @param keyOf what the lost node has. */
  async function askWithout(
    keyOf: (keys: KeySpace) => string,
    [method, path, json]: [string, string, object?],
    { isLinked = true } = {},
  ): Promise<number> {
    const { store } = space;
    const { space: keys } = store;
    const isLost = (key: string) => masterOfKey(store.redis, key) === masterOfKey(store.redis, keyOf(keys));
    const names = Array.from({ length: 200 }, (_, i) => `shop-${i}`);
    const workspace = names.find((name) => !isLost(workspaceKeys(keys, name).devices))!;
    await createWorkspace(store, workspace);
    const device = names.find((name) => !isLost(deviceKeys(keys, { workspace, device: name }).backlog))!;
    await linkDevice(store, { workspace, device });
    if (!isLinked) await store.redis.del(deviceKeys(keys, { workspace, device }).owner);
    const ofDevice = path === '/status' ? { device } : {};
    const makeToken = () => createApiToken(store, workspace, { name: 'test', scopes: API_TOKEN_SCOPES, ...ofDevice });
    let made = await makeToken();
    while (isLost(tokenIndexPartKey(keys, made.token.keyId))) made = await makeToken();
    const ofWorkspace = await createApiToken(store, workspace, { name: 'reader', scopes: API_TOKEN_SCOPES });
    expect(await api.call('GET', '/events', { token: ofWorkspace.value }), 'events are open').to.include({
      status: 200,
    });
    const { port } = masterOfKey(store.redis, keyOf(keys)).options;
    const { master } = cluster.shards.find((shard) => shard.master.port === port)!;
    await master.kill();
    try {
      const isServed = async () => (await api.call('GET', '/messages', { token: made.value })).status === 200;
      await eventually(isServed, WITHIN);
      return (await api.call(method, path, { token: made.value, ...(json && { json }) })).status;
    } finally {
      master.restart();
      await eventually(async () => (await cluster.agree()) && masterNodes(store.redis).length === 3, WITHIN);
    }
  }

  it('lists its devices, without the list of senders', async () => {
    expect(await askWithout(listOfSenders, ['GET', '/devices'])).to.equal(200);
  });

  it('shows the status of a device that no sender has, without the same', async () => {
    expect(await askWithout(listOfSenders, ['GET', '/status'], { isLinked: false })).to.equal(200);
  });

  it('gets one more webhook, without the list of workspaces with events', async () => {
    const webhook = { url: 'https://example.com/hook', types: ['send.finished'] };
    expect(await askWithout(eventWorkspacesKey, ['POST', '/webhooks', webhook])).to.equal(201);
  });
});
