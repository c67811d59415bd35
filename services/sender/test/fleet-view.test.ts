import { deviceKeys } from '@gateway/contracts/redis-keys';
import { FleetView } from '@gateway/sender/fleet/fleet-view';
import { requestLink } from '@gateway/store/devices/device-state';
import { ensureDevice } from '@gateway/store/devices/devices';
import type { Lease } from '@gateway/store/fleet/leases';
import { acquireLease, releaseLease } from '@gateway/testkit/leases';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const workspace = 'main';

describe('FleetView', () => {
  let space: RedisSpace;
  let monotonicMs = 0;
  let view: FleetView;
  const members = ['a', 'b'].map((id) => ({ id, held: 0, capacity: 10 }));

  beforeEach(async () => {
    space = await openRedisSpace();
    monotonicMs = 0;
    view = new FleetView({ store: space.store, workspace, clock: { nowMs: Date.now, monotonicMs: () => monotonicMs } });
  });
  afterEach(() => space.close());

  async function link(device: string, want = 'linked'): Promise<void> {
    const address = { workspace, device };
    await ensureDevice(space.store, address);
    await requestLink(space.store, address, { attemptId: 'x', method: 'qrCode', forceNew: false });
    await space.store.redis.hset(deviceKeys(space.store.space, address).desired, 'want', want);
  }
  const hold = async (device: string, owner: string): Promise<Lease> => {
    const lease = await acquireLease(space.store, { workspace, device }, { owner, ttlMs: 60_000 });
    if (!lease) throw new Error('the lease is taken');
    return lease;
  };
  const read = async (by = members) => Object.fromEntries(await view.read(by));

  it('tells linked devices with their owners, and no others', async () => {
    // A parked one belongs to no one before its user asks for it.
    const others = [link('parked', 'parked'), ensureDevice(space.store, { workspace, device: 'not-linked' })];
    await Promise.all([link('one'), link('two'), ...others]);
    await hold('one', 'a');
    expect(await read()).to.deep.equal({ one: 'a', two: undefined });
  });

  it('sees at once what called, and what nobody holds', async () => {
    await Promise.all([link('one'), link('two')]);
    const lease = await hold('one', 'a');
    await read();
    await Promise.all([releaseLease(space.store, lease), hold('two', 'b'), link('three')]);
    expect(await read(), 'nobody called for one and three').to.deep.equal({ one: 'a', two: 'b' });
    view.noteChange('one');
    view.noteChange('three');
    expect(await read()).to.deep.equal({ one: undefined, two: 'b', three: undefined });
  });

  it('sees at once when the owner of a device does not live', async () => {
    await link('one');
    const lease = await hold('one', 'b');
    await read();
    const left = members.slice(0, 1);
    expect(await read(left)).to.deep.equal({ one: 'b' });
    await releaseLease(space.store, lease);
    expect(await read(left)).to.deep.equal({ one: undefined });
  });

  it('finds without a call what was missed, within ten seconds', async () => {
    await link('one');
    const lease = await hold('one', 'a');
    await read();
    await releaseLease(space.store, lease);
    await link('two');
    monotonicMs = 10_000;
    expect(await read()).to.deep.equal({ one: undefined, two: undefined });
  });

  it('forgets a device that is not to be linked any more', async () => {
    await link('one');
    await read();
    await space.store.redis.hset(
      deviceKeys(space.store.space, { workspace, device: 'one' }).desired,
      'want',
      'unlinked',
    );
    view.noteChange('one');
    expect(await read()).to.deep.equal({});
  });

  it('reads after a failure what it could not read', async () => {
    await link('one');
    const lease = await hold('one', 'a');
    await read();
    await releaseLease(space.store, lease);
    view.noteChange('one');
    const hget = space.store.redis.hget;
    space.store.redis.hget = (async () => {
      throw new Error('Redis is away');
    }) as never;
    const failed = await view.read(members).catch((error: Error) => error.message);
    space.store.redis.hget = hget;
    expect(failed).to.equal('Redis is away');
    expect(await read()).to.deep.equal({ one: undefined });
  });
});
