import { type DeviceAddress, parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { DEFAULT_WEBHOOK_SETTINGS } from '@gateway/contracts/webhooks/webhook';
import { toError } from '@gateway/runtime/errors';
import { confirmByReplicas } from '@gateway/runtime/redis/confirm-writes';
import { createRedisClients, type RedisClients } from '@gateway/runtime/redis/redis-clients';
import { masterOfKey } from '@gateway/runtime/redis/redis-nodes';
import { keepBlob, putBlob } from '@gateway/store/blobs/blobs';
import { createStore, type Store } from '@gateway/store/core/store';
import { ensureDevice } from '@gateway/store/devices/devices';
import { mendEvents, openEvents } from '@gateway/store/events/open-events';
import { acceptSendOnce } from '@gateway/store/sends/accepting/accept-send';
import { findRepeat } from '@gateway/store/sends/accepting/idempotency';
import { createWebhook } from '@gateway/store/webhooks/webhooks';
import { eventually } from '@gateway/testkit/eventually';
import { type RedisCluster, startRedisCluster } from '@gateway/testkit/redis-servers/redis-cluster';
import type { RedisProcess } from '@gateway/testkit/redis-servers/redis-process';
import { readKeyRings } from '@gateway/testkit/redis-space';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const WITHIN = { everyMs: 100 };
const RING = 'test:'.concat('07'.repeat(32));

describe('a promise for which the slots of a workspace and of a device are written', () => {
  let cluster: RedisCluster;
  let clients: RedisClients<'commands' | 'confirms'>;
  let store: Store;
  let stop = () => {};
  /** On another master than the workspace. */
  let address: DeviceAddress;
  const frozen: RedisProcess[] = [];
  before(async () => {
    cluster = await startRedisCluster({ replicas: 1, nodeTimeoutMs: 60_000 });
    clients = createRedisClients({ url: cluster.url, logger, purposes: ['commands', 'confirms'] });
    await clients.waitForReady();
    const confirming = confirmByReplicas(clients.confirms, 1);
    stop = confirming.stop;
    store = createStore({
      ...{ redis: clients.commands, space: { prefix: 'gw' }, confirmWrites: confirming.confirm },
      keyRings: readKeyRings({ CREDENTIAL_KEYS: RING, CONTENT_KEYS: RING }),
    });
    const isElsewhere = (device: string) =>
      portOf(deviceKeys(store.space, { workspace: 'main', device }).device) !== portOf(workspaceKey());
    const device = Array.from({ length: 40 }, (_, i) => `d${i}`).find(isElsewhere)!;
    address = { workspace: 'main', device };
    await ensureDevice(store, address);
    for (const key of [workspaceKey(), deviceKeys(store.space, address).device])
      await eventually(async () => (await store.confirmWrites(key).catch(toError)) === undefined, WITHIN);
  });
  afterEach(() => thaw());
  after(async () => {
    stop();
    await clients?.close();
    await cluster?.stop();
  });

  const workspaceKey = () => workspaceKeys(store.space, 'main').devices;
  const portOf = (key: string) => masterOfKey(clients.commands, key).options.port;
  const freezeReplicasOf = (key: string) => {
    const { replicas } = cluster.shards.find(({ master }) => master.port === portOf(key))!;
    for (const replica of replicas) replica.freeze();
    frozen.push(...replicas);
  };
  const thaw = () => {
    for (const replica of frozen.splice(0)) replica.thaw();
  };
  const send = (callersKey: string) => {
    const nowMs = Date.now();
    const times = { nowMs, expiresAtMs: nowMs + 3_600_000 };
    const content = { kind: 'text', text: 'hello' } as const;
    const request = { owner: 't', requestId: 'r', parts: 1, recipients: ['447700900123'], ...times };
    const find = () => findRepeat(store, { owner: 't', callersKey, address, isBound: false });
    const accept = (key: string) =>
      acceptSendOnce(
        store,
        address,
        { kind: 'text', content, ...request },
        {
          ...{ key, fingerprint: Buffer.alloc(32, 1), answer: {} },
        },
      );
    return { find, accept };
  };

  it('is not given for a file that no replica has', async () => {
    const bytes = Buffer.from(`a picture ${Math.random()}`);
    const nowMs = Date.now();
    const { hash, holder } = (await putBlob(store, 'main', { bytes, nowMs, quotaBytes: 1e9 })) as Record<
      string,
      string
    >;
    const file = { kind: 'media', type: 'image', mimeType: 'image/png', sizeBytes: bytes.length } as const;
    const content = { ...file, blob: hash!, blobHolder: holder! };
    const keep = () => keepBlob(store, 'main', { content, expiresAtMs: nowMs + 3_600_000 });
    freezeReplicasOf(workspaceKey());
    await store.confirmWrites(deviceKeys(store.space, address).device);
    expect(await keep().catch(toError)).to.have.property('code', 'not_confirmed');
    thaw();
    await eventually(async () => (await keep().catch(() => false)) === true, WITHIN);
  });

  it('is not given for a device whose place in its workspace no replica has, nor to a repeat', async () => {
    const isElsewhere = (device: string) =>
      portOf(deviceKeys(store.space, { workspace: 'main', device }).device) !== portOf(workspaceKey());
    const device = Array.from({ length: 40 }, (_, i) => `new${i}`).find(isElsewhere)!;
    const make = () => ensureDevice(store, { workspace: 'main', device }).catch(toError);
    freezeReplicasOf(workspaceKey());
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await make(), `attempt ${attempt}`).to.have.property('code', 'not_confirmed');
    thaw();
    await eventually(async () => (await make()) === undefined, WITHIN);
    freezeReplicasOf(workspaceKey());
    expect(await make(), 'which is not asked again').to.equal(undefined);
  });

  it('is not given where only one master knows at which device the key of a caller lies', async () => {
    const { find } = send('key-1');
    freezeReplicasOf(workspaceKey());
    expect(await find().catch(toError)).to.have.property('code', 'not_confirmed');
    thaw();
    await eventually(async () => !((await find().catch(toError)) instanceof Error), WITHIN);
  });

  it('is not given to who wants events while one of their outboxes lies where no replica is, nor to a repeat', async () => {
    const webhook = {
      settings: DEFAULT_WEBHOOK_SETTINGS,
      target: { url: 'https://example.com/', headers: {} },
      secrets: [{ secret: 'whsec_x' }],
    };
    const create = () => createWebhook(store, 'main', webhook).catch(toError);
    const open = () => openEvents(store, 'main').catch(toError);
    freezeReplicasOf(deviceKeys(store.space, address).device);
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await create(), `attempt ${attempt}`).to.have.property('code', 'not_confirmed');
    expect(await open()).to.have.property('code', 'not_confirmed');
    // As the events process does that finds them on the list.
    expect(await mendEvents(store, 'main').catch(toError)).to.have.property('code', 'not_confirmed');
    expect(await create(), 'after others made what was missing').to.have.property('code', 'not_confirmed');
    thaw();
    await eventually(async () => !((await open()) instanceof Error), WITHIN);
    freezeReplicasOf(deviceKeys(store.space, address).device);
    expect(await create(), 'where they are open it is about the workspace alone').to.have.property('id');
  });

  it('is not given to a repeat of a request whose send no replica has', async () => {
    const { find, accept } = send('key-2');
    const { key } = (await find()) as { key: string };
    freezeReplicasOf(deviceKeys(store.space, address).device);
    expect(await accept(key).catch(toError)).to.have.property('code', 'not_confirmed');
    expect(await find().catch(toError)).to.have.property('code', 'not_confirmed');
    thaw();
    await eventually(async () => !((await find().catch(toError)) instanceof Error), WITHIN);
    const { kind, first } = (await find()) as { kind: string; first: { messageId: string } };
    expect(kind).to.equal('used');
    const { record } = sendKeys(store.space, address, parseMessageId(first.messageId)!.tag);
    expect(await store.redis.exists(record)).to.equal(1);
  });
});
