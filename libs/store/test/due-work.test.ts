import { shardOf } from '@gateway/contracts/shards';
import { ensureDevice } from '@gateway/store/devices/devices';
import { findDueDevices } from '@gateway/store/fleet/shards/find-due-devices';
import { readPaceWaitMs, takePace } from '@gateway/store/sends/change-send';
import { giveDeviceBack } from '@gateway/testkit/ownership';
import { expect } from 'chai';
import { useOwnedDevice } from './support/use-owned-device.js';

describe('what is read of a device without its ownership', () => {
  const { address, space, ownership } = useOwnedDevice();

  it('tells how long the next message waits for the pace', async () => {
    const pace = { messagesPerMinute: 60, burst: 2, jitter: 0 };
    const waitAt = (nowMs: number) => readPaceWaitMs(space.store, address, { pace, nowMs });
    expect(await waitAt(1_000_000)).to.equal(0);
    await takePace(space.store, ownership, { pace, nowMs: 1_000_000 });
    expect(await waitAt(1_000_000), 'one more of the burst').to.equal(0);
    await takePace(space.store, ownership, { pace, nowMs: 1_000_000 });
    expect(await waitAt(1_000_400)).to.equal(600);
    expect(await waitAt(1_001_000)).to.equal(0);
    const unlimited = { ...pace, messagesPerMinute: 0 };
    expect(await readPaceWaitMs(space.store, address, { pace: unlimited, nowMs: 1_000_000 })).to.equal(0);
    expect(await takePace(space.store, ownership, { pace: unlimited, nowMs: 1_000_000 })).to.equal(0);
  });

  it('tells whether time has done something to its sends', async () => {
    const keys = `${space.prefix}:{#34}:main/a`;
    const { redis } = space.store;
    await ensureDevice(space.store, address);
    const isDue = async (nowMs: number) => (await findDueDevices(space.store, shardOf(address), nowMs)).length > 0;
    await redis.sadd(`${keys}:released-blobs`, 'x');
    expect(await isDue(1_000_000), 'its owner does it').to.equal(false);
    await redis.del(`${keys}:released-blobs`);
    await giveDeviceBack(space.store, ownership);
    for (const [name, dueAtMs] of [['open-sends', 1_000_000]] as const) {
      expect(await isDue(1_000_000), name).to.equal(false);
      await redis.zadd(`${keys}:${name}`, dueAtMs, 'x');
      expect(await isDue(1_000_000), name).to.equal(true);
      expect(await isDue(dueAtMs - 1), name).to.equal(false);
      await redis.del(`${keys}:${name}`);
    }
    await redis.sadd(`${keys}:released-blobs`, 'x');
    expect(await isDue(1_000_000)).to.equal(true);
  });
});
