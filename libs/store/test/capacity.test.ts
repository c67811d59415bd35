import { DEFAULT_WORKSPACE, type DeviceAddress } from '@gateway/contracts/ids';
import { SHARDS } from '@gateway/contracts/shards';
import { putBlob } from '@gateway/store/blobs/blobs';
import { readCapacity } from '@gateway/store/core/capacity';
import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { type SmallRedis, startSmallRedis } from '@gateway/testkit/small-redis';
import { expect } from 'chai';

const KILOBYTE = 1024;

describe('how far Redis is filled', () => {
  let redis: SmallRedis;
  before(async () => {
    redis = await startSmallRedis();
  });
  after(() => redis.close());

  const capacity = () => readCapacity(redis.space.store);
  async function accept(address: DeviceAddress, recipients: string[]): Promise<void> {
    const { store } = redis.space;
    await ensureDevice(store, address);
    await acceptSend(store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients },
      ...{ owner: 't', requestId: 'r', nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
  }

  it('is told with what waits on all devices, and what files take of it, of all workspaces', async () => {
    const { store } = redis.space;
    await createWorkspace(store, 'other');
    const before = await capacity();
    expect(before).to.include({ limitBytes: redis.maxBytes, fileBytes: 0 });
    expect([...before.queuedMessages.values()]).to.deep.equal([]);
    await accept({ workspace: DEFAULT_WORKSPACE, device: 'a' }, ['491511', '491512']);
    await accept({ workspace: 'other', device: 'a' }, ['491513']);
    const file = Buffer.alloc(500 * KILOBYTE, 7);
    for (const [workspace, bytes] of [
      [DEFAULT_WORKSPACE, file.subarray(100 * KILOBYTE)],
      ['other', file.subarray(400 * KILOBYTE)],
    ] as const) {
      await putBlob(store, workspace, { bytes, quotaBytes: redis.maxBytes, nowMs: Date.now() });
    }
    const after = await capacity();
    expect(after.queuedMessages).to.deep.equal(
      new Map([
        [DEFAULT_WORKSPACE, 2],
        ['other', 1],
      ]),
    );
    expect(after.fileBytes).to.be.within(file.length, file.length + 10 * KILOBYTE);
    expect(after.usedBytes - before.usedBytes).to.be.within(file.length, redis.maxBytes / 4);
  });

  it('takes two commands for each shard, however many devices there are', async () => {
    const { store } = redis.space;
    const devices = Array.from({ length: 500 }, (_, i) => ({
      workspace: DEFAULT_WORKSPACE,
      device: `one-of-many-${i}`,
    }));
    await Promise.all(devices.map((address) => ensureDevice(store, address)));
    const processed = async () => Number(/total_commands_processed:(\d+)/.exec(await store.redis.info('stats'))?.[1]);
    const before = await processed();
    await capacity();
    expect((await processed()) - before).to.be.within(2 * SHARDS, 2 * SHARDS + 20);
  });

  it('is told while the node of the list of workspaces is away, with the workspaces and limits known before', async () => {
    const { store } = redis.space;
    await createWorkspace(store, 'limited');
    await setWorkspaceLimits(store, 'limited', { backlog: 5 });
    const before = await capacity();
    expect(before.backlogLimits).to.deep.equal(new Map([['limited', 5]]));
    const hgetall = store.redis.hgetall.bind(store.redis);
    Object.assign(store.redis, { hgetall: () => Promise.reject(new Error('its node is away')) });
    const after = await readCapacity(store, before).finally(() => Object.assign(store.redis, { hgetall }));
    expect(after.fileBytes).to.equal(before.fileBytes);
    expect(after.backlogLimits).to.deep.equal(before.backlogLimits);
    expect(after.limitBytes).to.equal(redis.maxBytes);
    await setWorkspaceLimits(store, 'limited', { backlog: undefined });
  });

  it('leaves what waits uncounted where there is no end', async () => {
    await redis.space.store.redis.config('SET', 'maxmemory', '0');
    expect(await capacity()).to.deep.include({ limitBytes: 0, queuedMessages: new Map() });
  });
});
