import { deviceKeys } from '@gateway/contracts/redis-keys';
import { SessionKeeper } from '@gateway/fleet/session-keeper';
import { FencedError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import { ensureDevice } from '@gateway/store/devices/devices';
import { claimDevice } from '@gateway/store/fleet/ownership';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };
const logger = createLogger({ service: 'test', level: 'error' });

describe('SessionKeeper', () => {
  let space: RedisSpace;
  const keepers: SessionKeeper[] = [];

  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
  });
  afterEach(async () => {
    for (const keeper of keepers.splice(0)) await keeper.stop();
    await space.close();
  });

  function keeper(owner: string, options: { ttlMs: number; monotonicMs?: () => number; store?: Store }): SessionKeeper {
    const clock = { nowMs: () => Date.now(), monotonicMs: options.monotonicMs ?? (() => performance.now()) };
    const made = new SessionKeeper({ store: options.store ?? space.store, clock, logger, owner, ttlMs: options.ttlMs });
    keepers.push(made);
    return made;
  }

  it('gives a device to one process only, and to the next one with a larger epoch', async () => {
    const [a, b] = [keeper('a', { ttlMs: 5_000 }), keeper('b', { ttlMs: 5_000 })];
    const first = (await a.acquire(address))!;
    expect(await b.acquire(address)).to.equal(undefined);
    await a.release(first);
    const second = (await b.acquire(address))!;
    expect(second.epoch).to.equal(first.epoch + 1);
    expect(first.lost.aborted).to.equal(true);
  });

  it('gives no device to a session that has ended', async () => {
    expect(await claimDevice(space.store, address, 'ended')).to.equal('noSession');
    const { owner, epoch } = deviceKeys(space.store.space, address);
    expect(await space.store.redis.exists(owner, epoch)).to.equal(0);
  });

  it('keeps an ownership for longer than its ttl', async () => {
    const a = keeper('a', { ttlMs: 300 });
    a.start();
    const held = (await a.acquire(address))!;
    const began = performance.now();
    await eventually(() => performance.now() - began > 900);
    held.assertHeld();
    expect(await keeper('b', { ttlMs: 300 }).acquire(address)).to.equal(undefined);
  });

  it('keeps the ownerships of several devices apart, although their epochs are the same', async () => {
    const a = keeper('a', { ttlMs: 300 });
    a.start();
    const first = (await a.acquire(address))!;
    const other = { ...address, device: 'phone-2' };
    await ensureDevice(space.store, other);
    const second = (await a.acquire(other))!;
    expect(second.epoch).to.equal(first.epoch);
    await a.release(second);
    const began = performance.now();
    await eventually(() => performance.now() - began > 900);
    first.assertHeld();
    expect(second.lost.aborted).to.equal(true);
    expect(await keeper('b', { ttlMs: 300 }).acquire(address)).to.equal(undefined);
  });

  it('fences itself when its renewals are late, by its own clock, before it asks Redis', async () => {
    let now = 0;
    const a = keeper('a', { ttlMs: 10_000, monotonicMs: () => now });
    const held = (await a.acquire(address))!;
    now = 9_999;
    held.assertHeld();
    now = 10_000;
    expect(() => held.assertHeld()).to.throw(FencedError);
    expect(held.lost.aborted).to.equal(true);
    now = 0;
    expect(() => held.assertHeld(), 'a lost ownership is never regained').to.throw(FencedError);
  });

  it('gives back nothing that has another owner by now', async () => {
    const a = keeper('a', { ttlMs: 200 });
    const held = (await a.acquire(address))!;
    const { owner } = deviceKeys(space.store.space, address);
    await space.clients.commands.set(owner, 'b:99');
    await a.release(held);
    expect(await space.clients.commands.get(owner)).to.equal('b:99');
  });

  it('renews any number of devices with one command', async () => {
    let renewals = 0;
    const run: Store['run'] = (name, ...rest) => {
      if (name === 'renew-sessions') renewals += 1;
      return space.store.run(name, ...rest);
    };
    const a = keeper('a', { ttlMs: 300, store: { ...space.store, run } });
    const devices = Array.from({ length: 40 }, (_, i) => ({ ...address, device: `phone-${i}` }));
    await Promise.all(devices.map((device) => ensureDevice(space.store, device)));
    const held = await Promise.all(devices.map(async (device) => (await a.acquire(device))!));
    a.start();
    const began = performance.now();
    await eventually(() => performance.now() - began > 600);
    for (const device of held) device.assertHeld();
    expect(renewals).to.be.within(1, 20);
  });

  it('leaves every device free when it stops', async () => {
    const a = keeper('a', { ttlMs: 60_000 });
    const first = (await a.acquire(address))!;
    await a.stop();
    expect(first.lost.aborted).to.equal(true);
    expect((await keeper('b', { ttlMs: 5_000 }).acquire(address))!.epoch).to.equal(first.epoch + 1);
  });
});
