import { shortDeviceId } from '@gateway/contracts/ids';
import { deviceKeys, schemaKey, workspaceKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { checkSchema } from '@gateway/store/core/store';
import {
  ensureDevice,
  findDeviceByShortId,
  listDevices,
  notePasskeyDemand,
  readDevice,
  readIdKey,
  setPace,
} from '@gateway/store/devices/devices';
import { lookAtShard } from '@gateway/store/fleet/shards/look-at-shard';
import { expect } from 'chai';
import { useOwnedDevice } from './support/use-owned-device.js';

describe('the devices of a workspace', () => {
  const { address, space } = useOwnedDevice();
  const named = (device: string) => ({ ...address, device });

  it('are created once, by any caller, and keep their values', async () => {
    const before = Date.now();
    await Promise.all([ensureDevice(space.store, address), ensureDevice(space.store, address)]);
    const [made, key] = [await readDevice(space.store, address), await readIdKey(space.store, address)];
    expect(made).to.include({ displayName: 'a', asksForPasskey: false }).and.not.have.any.keys('account', 'pace');
    expect(made!.createdAtMs).to.be.within(before, Date.now());
    await ensureDevice(space.store, address);
    expect([await readDevice(space.store, address), await readIdKey(space.store, address)]).to.deep.equal([made, key]);
    expect(await readDevice(space.store, named('b'))).to.equal(undefined);
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
    await notePasskeyDemand(space.store, address, true);
    expect(await readDevice(space.store, address)).to.deep.include({ pace, asksForPasskey: true });
    await setPace(space.store, address, undefined);
    await notePasskeyDemand(space.store, address, false);
    expect(await readDevice(space.store, address))
      .to.include({ asksForPasskey: false })
      .and.not.have.property('pace');
  });

  it('are seen in their shard when they have an owner, or something is wanted that has not come about', async () => {
    const hash = (device: string, kind: 'desired' | 'observed', fields: Record<string, string>) =>
      space.store.redis.hset(deviceKeys(space.store.space, named(device))[kind], fields);
    const shards = new Set(['a', 'b', 'c', 'd', 'e'].map((device) => shardOf(named(device))));
    for (const device of ['a', 'b', 'c', 'd', 'e']) await ensureDevice(space.store, named(device));
    await hash('a', 'desired', { want: 'linked' });
    await hash('b', 'desired', { want: 'linking' });
    await hash('c', 'desired', { want: 'unlinked', attemptId: 'x' });
    await hash('d', 'desired', { want: 'unlinked', attemptId: 'x' });
    await hash('d', 'observed', { attemptId: 'x' });
    await hash('e', 'desired', { want: 'parked' });
    const seen = (await Promise.all([...shards].map((shard) => lookAtShard(space.store, shard)))).flat();
    expect(seen).to.have.deep.members([
      { address: named('a'), want: 'linked', owner: 'a' },
      { address: named('b'), want: 'linking' },
      { address: named('c'), want: 'unlinked' },
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
});
