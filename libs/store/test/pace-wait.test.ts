import { readPaceWaitMs } from '@gateway/store/sends/pace';
import { takePace } from '@gateway/testkit/sends/take-pace';
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
  });
});
