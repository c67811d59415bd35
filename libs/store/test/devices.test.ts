import { nameOfDevice, shortDeviceId } from '@gateway/contracts/ids';
import { deviceKeys, schemaKey, shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { defer } from '@gateway/runtime/deferred';
import { toError } from '@gateway/runtime/errors';
import type { RunScript } from '@gateway/store/core/scripts/define-script';
import { awaitSchema, checkSchema } from '@gateway/store/core/store';
import { cancelLink, requestLink } from '@gateway/store/devices/device-state';
import {
  ensureDevice,
  findDeviceByShortId,
  listAllDevices,
  listDevices,
  readAccountEpoch,
  readDevice,
  readIdKey,
  renameDevice,
  setPace,
} from '@gateway/store/devices/devices';
import { notePasskeyDemand } from '@gateway/store/devices/incidents/note-passkey-demand';
import { readHistory } from '@gateway/store/devices/read-history';
import { removeDevice } from '@gateway/store/devices/removing/remove-device';
import { takeAccount } from '@gateway/store/devices/take-account';
import { claimDevice, type Ownership, openSession } from '@gateway/store/fleet/ownership';
import { lookAtShard } from '@gateway/store/fleet/shards/look-at-shard';
import { takeDevice } from '@gateway/testkit/ownership';
import { expect } from 'chai';
import { Cluster } from 'ioredis';
import { TYPED, useOwnedDevice } from './support/use-owned-device.js';

describe('the devices of a workspace', () => {
  const { address, space, ownership } = useOwnedDevice();
  const named = (device: string) => ({ ...address, device });

  it('are created once, by any caller, and keep their values', async () => {
    const before = Date.now();
    const device = named('fresh');
    await Promise.all([ensureDevice(space.store, device), ensureDevice(space.store, device)]);
    const read = async () => ({
      made: await readDevice(space.store, device),
      key: await readIdKey(space.store, device),
      epoch: await readAccountEpoch(space.store, device),
    });
    const first = await read();
    const { made, epoch } = first;
    expect(made).to.include({ displayName: 'fresh', asksForPasskey: false }).and.not.have.any.keys('account', 'pace');
    expect(made!.createdAtMs).to.be.within(before, Date.now());
    expect(epoch).to.be.within(1, 2 ** 31);
    await ensureDevice(space.store, device);
    expect(await read()).to.deep.equal(first);
    expect(await readDevice(space.store, named('b'))).to.equal(undefined);
  });

  it('keep the epoch of their account when a key of ids is made for one that has none: open sends carry it', async () => {
    const { redis, space: names } = space.store;
    await ensureDevice(space.store, address);
    await redis.hdel(deviceKeys(names, address).device, 'idKey', 'accountEpoch');
    await ensureDevice(space.store, address);
    expect(await readIdKey(space.store, address)).to.have.length(16);
    expect(await readAccountEpoch(space.store, address)).to.equal(0);
  });

  it('stay once they have an account, also where the version before has listed what a process of this one began to make', async () => {
    const { store } = space;
    const device = named('begun');
    const dies: RunScript = (name, keys, args) =>
      name === 'keep-device' ? Promise.reject(new Error('killed')) : store.run(name, keys, args);
    expect(await ensureDevice({ ...store, run: dies }, device).catch(toError)).to.have.property('message', 'killed');
    const key = deviceKeys(store.space, device).device;
    expect(await store.redis.pttl(key)).to.be.above(0);
    // As it did, and went on to link.
    await store.redis.sadd(shardKeys(store.space, shardOf(device)).devices, nameOfDevice(device));
    const session = { shard: shardOf(device), id: 'linking' };
    await openSession(store, session, 60_000);
    const ownership = (await claimDevice(store, device, session.id)) as Ownership;
    await takeAccount(store, ownership, { phone: TYPED, nowMs: Date.now() });
    expect(await store.redis.pttl(key)).to.equal(-1);
  });

  it('are found by the short id in the ids of messages, which no two share', async () => {
    await Promise.all([ensureDevice(space.store, named('b')), ensureDevice(space.store, address)]);
    expect(await listDevices(space.store, 'main')).to.deep.equal(['a', 'b']);
    expect(await findDeviceByShortId(space.store, 'main', shortDeviceId(named('b')))).to.equal('b');
    expect(await findDeviceByShortId(space.store, 'main', 'none')).to.equal(undefined);
    const { shortDeviceIds } = workspaceKeys(space.store.space, 'main');
    await space.store.redis.hset(shortDeviceIds, shortDeviceId(named('c')), 'a');
    const thrown = await ensureDevice(space.store, named('c')).catch((error: Error) => error.message);
    expect(thrown).to.match(/needs another name/);
    expect(await listDevices(space.store, 'main')).to.deep.equal(['a', 'b']);
  });

  it('have settings of operators, which can be taken back', async () => {
    await ensureDevice(space.store, address);
    const pace = { messagesPerMinute: 3, burst: 1, jitter: 0 };
    await setPace(space.store, address, pace);
    await notePasskeyDemand(space.store, ownership, true);
    expect(await readDevice(space.store, address)).to.deep.include({ pace, asksForPasskey: true });
    await setPace(space.store, address, undefined);
    await notePasskeyDemand(space.store, ownership, false);
    expect(await readDevice(space.store, address))
      .to.include({ asksForPasskey: false })
      .and.not.have.property('pace');
  });

  it('are removed when no account is linked and nothing waits, and made anew by a link', async () => {
    const { store } = space;
    await ensureDevice(store, address);
    const key = await readIdKey(store, address);
    await renameDevice(store, address, 'Shop');
    await setPace(store, address, { messagesPerMinute: 3, burst: 1, jitter: 0 });
    const link = () => requestLink(store, address, { attemptId: 'x', method: 'qrCode', forceNew: false });
    await link();
    expect(await removeDevice(store, address)).to.equal('linked');
    await cancelLink(store, address, { attemptId: 'x', reason: 'link_expired' });
    await store.redis.zadd(deviceKeys(store.space, address).openSends, 1, 'msg_x');
    expect(await removeDevice(store, address)).to.equal('sending');
    await store.redis.del(deviceKeys(store.space, address).openSends);
    await store.redis.set(deviceKeys(store.space, address).creds, 'of an account');
    expect(await removeDevice(store, address)).to.equal('linked');
    await store.redis.del(deviceKeys(store.space, address).creds);

    for (let time = 0; time < 2; time++) expect(await removeDevice(store, address)).to.equal('removed');
    expect(await listDevices(store, 'main')).to.deep.equal([]);
    expect(await listAllDevices(store)).to.deep.equal([]);
    expect(await readDevice(store, address)).to.equal(undefined);
    expect(await readHistory(store, address)).to.deep.equal([]);
    expect(await findDeviceByShortId(store, 'main', shortDeviceId(address))).to.equal('a');

    // As when it is removed between the two steps of a link.
    await link();
    expect(await listDevices(store, 'main')).to.deep.equal(['a']);
    expect(await listAllDevices(store)).to.deep.equal([address]);
    expect(await readDevice(store, address))
      .to.include({ displayName: 'a' })
      .and.not.have.property('pace');
    expect(await readIdKey(store, address), 'ids of before are not given out again').to.deep.equal(key);
  });

  it('that are removed while they are linked are in all lists or in none', async () => {
    for (let round = 0; round < 20; round++) {
      const device = named(`raced-${round}`);
      await ensureDevice(space.store, device);
      await Promise.all([
        removeDevice(space.store, device),
        requestLink(space.store, device, { attemptId: 'x', method: 'qrCode', forceNew: false }),
      ]);
      const names = [
        await listDevices(space.store, 'main'),
        (await listAllDevices(space.store)).map((each) => each.device),
      ];
      for (const list of names) expect(list).to.include(device.device);
      expect(await readDevice(space.store, device)).to.include({ displayName: device.device });
    }
  });

  it('are listed also where the version before, which looks for them in the shard, removes one while it is made', async () => {
    const device = named('till');
    const { store } = space;
    const { devices: listed } = workspaceKeys(store.space, device.workspace);
    const { device: key, desired, observed, history, creds, openSends } = deviceKeys(store.space, device);
    const { devices } = shardKeys(store.space, shardOf(device));
    let kept = 0;
    const run: RunScript = async (name, keys, args) => {
      if (name !== 'keep-device') return store.run(name, keys, args);
      kept++;
      const removed = [devices, key, desired, observed, history, creds, openSends];
      if (kept === 1) await store.run('remove-device', removed, [nameOfDevice(device)]);
      if (kept === 2) {
        await store.redis.srem(listed, device.device);
        expect(await store.redis.sismember(devices, nameOfDevice(device)), 'it lists it no more').to.equal(0);
      }
      return store.run(name, keys, args);
    };
    await ensureDevice({ ...store, run }, device);
    expect(kept).to.equal(2);
    expect(await listAllDevices(store)).to.deep.include(device);
    expect(await listDevices(store, device.workspace)).to.include('till');
  });

  it('are seen in their shard when they have an owner, or something is wanted that has not come about', async () => {
    const hash = (device: string, kind: 'desired' | 'observed', fields: Record<string, string>) =>
      space.store.redis.hset(deviceKeys(space.store.space, named(device))[kind], fields);
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const shards = new Set(names.map((device) => shardOf(named(device))));
    for (const device of names) await ensureDevice(space.store, named(device));
    await hash('a', 'desired', { want: 'linked' });
    await hash('b', 'desired', { want: 'linking' });
    await hash('c', 'desired', { want: 'unlinked', attemptId: 'x' });
    await hash('d', 'desired', { want: 'unlinked', attemptId: 'x' });
    await hash('d', 'observed', { attemptId: 'x' });
    await hash('e', 'desired', { want: 'parked' });
    await hash('f', 'desired', { want: 'unlinked', attemptId: 'x' });
    await hash('f', 'observed', { attemptId: 'x' });
    await space.store.redis.hset(deviceKeys(space.store.space, named('f')).creds, 'creds', 'still there');
    await hash('g', 'desired', { want: 'parked' });
    await takeDevice(space.store, named('g'), { owner: 'b', ttlMs: 60_000 });
    const seen = (await Promise.all([...shards].map((shard) => lookAtShard(space.store, shard)))).flat();
    expect(seen).to.have.deep.members([
      { address: named('a'), want: 'linked', owner: 'a' },
      { address: named('b'), want: 'linking' },
      { address: named('c'), want: 'unlinked' },
      { address: named('f'), want: 'unlinked' },
      { address: named('g'), want: 'parked', owner: 'b' },
    ]);
  });
});

describe('data of another version', () => {
  const { space } = useOwnedDevice();

  it('is not worked on', async () => {
    await checkSchema(space.store);
    await checkSchema(space.store);
    await space.store.redis.set(schemaKey(space.store.space), '1');
    const thrown = await checkSchema(space.store).catch((error: Error) => error.message);
    expect(thrown).to.match(/schema 1/);
  });

  it('keeps no process from starting while its node is away, and ends it when it is back', async () => {
    const found = defer<string>();
    const cluster = Object.assign(Object.create(Cluster.prototype), {
      exists: async () => 1,
      get: () => found.promise,
    });
    const [stopping, failed, told] = [new AbortController(), defer<Error>(), [] as string[]];
    const logger = { warn: (line: string) => void told.push(line) };
    const process = { logger, stopping: stopping.signal, fail: failed.resolve };
    await awaitSchema({ ...space.store, redis: cluster }, process);
    expect(told).to.deep.equal(['the node that has the version of the data is away: it is compared later']);
    found.resolve('1');
    expect((await failed.promise).message).to.match(/schema 1/);
    stopping.abort();
  });
});
