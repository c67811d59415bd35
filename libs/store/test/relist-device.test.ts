import { nameOfDevice, shortDeviceId } from '@gateway/contracts/ids';
import { shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { toError } from '@gateway/runtime/errors';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { WorkspaceGoneError } from '@gateway/store/core/workspace-gone-error';
import { DevicesFullError, ensureDevice, findDeviceByShortId, listDevices } from '@gateway/store/devices/devices';
import { relistDevice, relistDevices } from '@gateway/store/devices/listing/relist-device';
import { removeDevice } from '@gateway/store/devices/removing/remove-device';
import { recordIncoming } from '@gateway/store/inbound/incoming-messages';
import { deleteWorkspace, findWorkspace } from '@gateway/store/workspace/delete-workspace';
import { findOptOut } from '@gateway/store/workspace/opt-outs';
import { createProof } from '@gateway/store/workspace/tokens/api-tokens';
import { setWorkspaceLimits } from '@gateway/store/workspace/workspace-limits';
import { createWorkspace } from '@gateway/store/workspace/workspaces';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';
import { everything } from './support/everything.js';

const AT_ONCE = { logoutMs: 0, closingMs: 0 };
const SHOP = { workspace: 'shop', device: 'till' };
const PERSON = '447700900001';

describe('a device whose place in the list of its workspace was lost in a failover', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
    await createWorkspace(space.store, 'shop');
    await ensureDevice(space.store, SHOP);
  });
  afterEach(() => space.close());

  async function lose(): Promise<void> {
    const { devices, shortDeviceIds } = workspaceKeys(space.store.space, 'shop');
    await space.store.redis.del(devices, shortDeviceIds);
  }
  const isFound = async () => ({
    listed: await listDevices(space.store, 'shop'),
    byShortId: await findDeviceByShortId(space.store, 'shop', shortDeviceId(SHOP)),
  });
  const FOUND = { listed: ['till'], byShortId: 'till' };
  /** The same store, where something comes before a step. */
  const before = (step: string, happens: () => Promise<unknown>) => {
    let isOver = false;
    const run: RunScript = async (name, keys, args) => {
      if (name === step && !isOver) {
        isOver = true;
        await happens();
      }
      return space.store.run(name, keys, args);
    };
    return { ...space.store, run };
  };
  const stop = async (store = space.store) => {
    const ownership = (await takeDevice(space.store, SHOP, { owner: 'a', ttlMs: 60_000 }))!;
    const message = { platformId: 'ID', jid: '1@lid', text: 'STOP', atMs: Date.now(), phone: PERSON };
    return () => recordIncoming(store, ownership, { message, nowMs: Date.now() });
  };

  it('is put back, once', async () => {
    expect(await relistDevice(space.store, SHOP)).to.equal(false);
    await lose();
    expect(await relistDevice(space.store, SHOP)).to.equal(true);
    expect(await isFound()).to.deep.equal(FOUND);
    expect(await relistDevice(space.store, SHOP)).to.equal(false);
  });

  it('is put back with the others of its shard, and of no workspace that still lists them', async () => {
    const shard = shardOf(SHOP);
    const other = { workspace: 'desk', device: 'd' };
    await createWorkspace(space.store, 'desk');
    for (let i = 0; shardOf(other) !== shard; i++) other.device = `d${i}`;
    await ensureDevice(space.store, other);
    expect(await relistDevices(space.store, shard)).to.deep.equal([]);
    await lose();
    expect(await relistDevices(space.store, shard)).to.deep.equal([SHOP]);
    expect(await isFound()).to.deep.equal(FOUND);
  });

  it('has it back also where the workspace may have no more devices: it had it before', async () => {
    await lose();
    await ensureDevice(space.store, { ...SHOP, device: 'other' });
    const { store } = space;
    await setWorkspaceLimits(store, 'shop', { devices: 1 }, { keyId: await createProof(store, 'shop', 'operator') });
    expect(await ensureDevice(store, { ...SHOP, device: 'third' }).catch(toError)).to.be.instanceOf(DevicesFullError);
    expect(await relistDevice(store, SHOP)).to.equal(true);
    expect((await isFound()).listed).to.deep.equal(['other', 'till']);
  });

  it('takes a STOP all the same, and has its place by then', async () => {
    const write = await stop();
    await lose();
    expect(await write()).to.equal('optedOut');
    expect(await findOptOut(space.store, 'shop', PERSON)).to.include({ source: 'reply' });
    expect(await isFound()).to.deep.equal(FOUND);
  });

  it('takes a STOP where another process puts it back in the same moment', async () => {
    const write = await stop(before('list-device', () => relistDevice(space.store, SHOP)));
    await lose();
    expect(await write()).to.equal('optedOut');
  });

  it('is not put back once it is removed, before that or meanwhile', async () => {
    await lose();
    const { store } = space;
    const remove = () => removeDevice(store, SHOP);
    await relistDevice(before('list-device', remove), SHOP);
    expect((await isFound()).listed).to.deep.equal([]);
    expect(await relistDevice(store, SHOP)).to.equal(false);
    expect((await isFound()).listed).to.deep.equal([]);
  });

  for (const isMadeAgain of [false, true]) {
    it(`is put back into no workspace that was deleted meanwhile${isMadeAgain ? ', nor into the next one of its name' : ''}`, async () => {
      const { store } = space;
      const replace = async () => {
        await deleteWorkspace(store, 'shop', AT_ONCE);
        if (isMadeAgain) await createWorkspace(store, 'shop');
        then = await everything(space);
      };
      let then: string[] | undefined;
      await lose();
      expect(await relistDevice(before('list-device', replace), SHOP).catch(toError)).to.be.instanceOf(
        WorkspaceGoneError,
      );
      expect(await everything(space)).to.deep.equal(then);
    });
  }

  it('is not put back while its workspace is being deleted, and its STOP is refused', async () => {
    const { store } = space;
    const write = await stop();
    await lose();
    const { devices } = shardKeys(store.space, shardOf(SHOP));
    await deleteWorkspace(store, 'shop', AT_ONCE);
    // As an owner that has not looked yet still sees it.
    await store.redis.sadd(devices, nameOfDevice(SHOP));
    expect(await relistDevices(store, shardOf(SHOP))).to.deep.equal([]);
    expect(await write().catch(toError)).to.be.instanceOf(WorkspaceGoneError);
    await store.redis.srem(devices, nameOfDevice(SHOP));
    expect((await findWorkspace(store, 'shop')).found).to.deep.equal({ keys: [], entries: [] });
  });
});
