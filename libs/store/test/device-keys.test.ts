import { deviceKeys } from '@gateway/contracts/redis-keys';
import { FencedError } from '@gateway/runtime/errors';
import { recordRestriction } from '@gateway/store/devices/incidents/restrictions';
import { deviceKeyStore, retireKeys } from '@gateway/store/devices/keys/device-keys';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };
const secret = Buffer.from('a session key that must stay secret');

describe('the keys of a device', () => {
  let space: RedisSpace;
  let ownership: Ownership;

  beforeEach(async () => {
    space = await openRedisSpace();
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
  });
  afterEach(() => space.close());

  const names = () => deviceKeys(space.store.space, address);
  const store = () => deviceKeyStore(space.store, ownership);
  const many = Array.from({ length: 300 }, (_, i) => ({ type: 'pre-key', id: String(i), value: Buffer.from(`${i}`) }));
  const keysLeft = async () => {
    const found = await space.clients.commands.keys(`${names().base}:*`);
    const { owner, epoch, device } = names();
    return found.filter((key) => ![owner, epoch, device].includes(key)).sort();
  };

  it('are read back as they were committed, and absent where there are none', async () => {
    await store().commit({ creds: '{"me":1}', keys: [{ type: 'session', id: 'x', value: secret }], contacts: ['c'] });
    expect(await store().readCreds()).to.equal('{"me":1}');
    const found = await store().read('session', ['x', 'y']);
    expect([...found.keys()]).to.deep.equal(['x']);
    expect(Buffer.from(found.get('x')!).equals(secret)).to.equal(true);
    expect(await store().readContactIndex()).to.deep.equal(['c']);
    await store().commit({ keys: [{ type: 'session', id: 'x', value: null }] });
    expect((await store().read('session', ['x'])).size).to.equal(0);
    expect(await store().readCreds(), 'untouched').to.equal('{"me":1}');
  });

  it('commit hundreds of keys at once, and find each again', async () => {
    await store().commit({ keys: many });
    const ids = many.map(({ id }) => id);
    expect((await store().read('pre-key', ids)).size).to.equal(300);
  });

  it('lie sealed in Redis', async () => {
    await store().commit({ creds: `{"noise":"${secret}"}`, keys: [{ type: 'session', id: 'x', value: secret }] });
    expect((await space.clients.commands.getBuffer(names().creds))!.includes(secret)).to.equal(false);
    for (const key of await space.clients.commands.keys(`${names().base}:keys:*`)) {
      for (const value of await space.clients.commands.hvalsBuffer(key)) expect(value.includes(secret)).to.equal(false);
    }
  });

  it('throw when one of them cannot be opened: an unreadable key is not an absent one', async () => {
    await store().commit({ creds: '{}', keys: [{ type: 'session', id: 'x', value: secret }] });
    const [bucket] = await space.clients.commands.keys(`${names().base}:keys:*`);
    const sealed = (await space.clients.commands.hgetBuffer(bucket!, 'x'))!;
    await space.clients.commands.hset(bucket!, 'x', sealed.subarray(0, sealed.length - 1));
    await space.clients.commands.set(names().creds, 'nonsense');
    for (const read of [() => store().readCreds(), () => store().read('session', ['x'])]) {
      expect(await read().catch((thrown: unknown) => thrown)).to.be.instanceOf(Error);
    }
  });

  it('do not open in the place of another key', async () => {
    await store().commit({ keys: [{ type: 'session', id: 'x', value: secret }] });
    const [bucket] = await space.clients.commands.keys(`${names().base}:keys:*`);
    const sealed = (await space.clients.commands.hgetBuffer(bucket!, 'x'))!;
    await store().commit({ keys: [{ type: 'session', id: 'y', value: Buffer.of(1) }] });
    const keys = await space.clients.commands.keys(`${names().base}:keys:*`);
    for (const key of keys)
      if (await space.clients.commands.hexists(key, 'y')) await space.clients.commands.hset(key, 'y', sealed);
    expect(
      await store()
        .read('session', ['y'])
        .catch((thrown: unknown) => thrown),
    ).to.be.instanceOf(Error);
  });

  it('are written as a whole or not at all: a stale owner changes nothing', async () => {
    const stale = store();
    await stale.commit({ creds: 'first' });
    await giveDeviceBack(space.store, ownership);
    const staleOwnership = ownership;
    ownership = (await takeDevice(space.store, address, { owner: 'b', ttlMs: 60_000 }))!;
    const before = await keysLeft();
    for (const write of [
      () => stale.commit({ creds: 'late', keys: many, contacts: ['c'] }),
      () => retireKeys(space.store, staleOwnership, { quarantine: false }),
    ]) {
      expect(await write().catch((thrown: unknown) => thrown)).to.be.instanceOf(FencedError);
    }
    expect(await store().readCreds()).to.equal('first');
    expect(await keysLeft()).to.deep.equal(before);
  });

  it('are wiped to the last one', async () => {
    await store().commit({ creds: '{}', keys: many, contacts: ['c'] });
    await recordRestriction(space.store, ownership, { kind: 'new_chat_cap', sinceMs: 1 }, ['4915']);
    await retireKeys(space.store, ownership, { quarantine: false });
    expect(await keysLeft()).to.deep.equal([]);
    await retireKeys(space.store, ownership, { quarantine: true });
    expect(await keysLeft(), 'safe to repeat').to.deep.equal([]);
  });

  it('leave only the credentials in quarantine, for a week', async () => {
    await store().commit({ creds: '{}', keys: many });
    await retireKeys(space.store, ownership, { quarantine: true });
    expect(await store().readCreds()).to.equal(undefined);
    expect(await keysLeft()).to.deep.equal([names().quarantinedCreds]);
    expect(await space.clients.commands.pttl(names().quarantinedCreds)).to.be.within(6 * 86_400_000, 7 * 86_400_000);
  });
});
