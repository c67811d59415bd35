import { type DeviceAddress, shortDeviceId } from '@gateway/contracts/ids';
import { deviceKeys, workspaceKeys, workspacesKey } from '@gateway/contracts/redis-keys';
import { SHARDS } from '@gateway/contracts/shards';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { createStore, type Store } from '@gateway/store/core/store';
import { ensureDevice, findDeviceByShortId, listAllDevices, listDevices } from '@gateway/store/devices/devices';
import { relistDevices } from '@gateway/store/devices/listing/relist-device';
import { recordIncoming } from '@gateway/store/inbound/incoming-messages';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { eventually } from '@gateway/testkit/eventually';
import { takeDevice } from '@gateway/testkit/ownership';
import { askServer } from '@gateway/testkit/redis-servers/ask-server';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import { readKeyRings } from '@gateway/testkit/redis-space';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const RING = 'test:'.concat('07'.repeat(32));
const PEOPLE = ['447700900001', '447700900002'] as const;
const PATIENT = { timeoutMs: 60_000, everyMs: 100 };

describe('a device that the next master of its workspace has never heard of', () => {
  let cluster: RedisCluster;
  let clients: RedisClients<'commands'>;
  let store: Store;
  before(async () => {
    cluster = await startRedisCluster({ replicas: 1, nodeTimeoutMs: 5_000, canBeCut: true });
    clients = createRedisClients({ url: cluster.url, logger, purposes: ['commands'] });
    await clients.waitForReady();
    const keyRings = readKeyRings({ CREDENTIAL_KEYS: RING, CONTENT_KEYS: RING });
    store = createStore({ redis: clients.commands, space: { prefix: 'gw' }, keyRings });
  });
  after(async () => {
    await clients?.close();
    await cluster?.stop();
  });

  const portOf = (key: string) => masterOfKey(clients.commands, key).options.port;

  it('takes a STOP, and is put back into its list by who looks at its shard', async () => {
    const { devices } = workspaceKeys(store.space, 'shop');
    const elsewhere = Array.from({ length: 40 }, (_, i) => ({ workspace: 'shop', device: `d${i}` })).filter(
      (address) => portOf(deviceKeys(store.space, address).device) !== portOf(devices),
    );
    const [till, desk] = elsewhere as [DeviceAddress, DeviceAddress];
    await createWorkspace(store, 'shop');
    const shard = cluster.shards.find(({ master }) => master.port === portOf(devices))!;
    const [replica] = shard.replicas;
    // That the workspace is there its replicas know.
    const node = masterOfKey(clients.commands, workspacesKey(store.space));
    await eventually(async () => (await node.wait(1, 1_000)) === 1, PATIENT);
    const heal = cluster.cutOff(replica!);
    await askServer(shard.master.ownUrl, 'CLIENT', 'KILL', 'TYPE', 'replica');
    const ownership = (await takeDevice(store, till, { owner: 'a', ttlMs: 600_000 }))!;
    await ensureDevice(store, desk);
    await shard.master.kill();
    heal();
    await eventually(async () => (await listDevices(store, 'shop').catch(() => ['?'])).length === 0, PATIENT);
    expect(await listAllDevices(store)).to.have.deep.members([till, desk]);

    const stop = (phone: string) =>
      recordIncoming(store, ownership, {
        message: { platformId: phone, jid: '1@lid', text: 'STOP', atMs: Date.now(), phone },
        nowMs: Date.now(),
      });
    expect(await stop(PEOPLE[0])).to.equal('optedOut');
    expect(await findOptOut(store, 'shop', PEOPLE[0])).to.include({ source: 'reply' });
    expect(await listDevices(store, 'shop'), 'its own place').to.deep.equal([till.device]);

    const put = await Promise.all(Array.from({ length: SHARDS }, (_, each) => relistDevices(store, each)));
    expect(put.flat()).to.deep.equal([desk]);
    expect(await listDevices(store, 'shop')).to.have.members([till.device, desk.device]);
    expect(await findDeviceByShortId(store, 'shop', shortDeviceId(desk))).to.equal(desk.device);
    expect(await stop(PEOPLE[1])).to.equal('optedOut');
  });
});
