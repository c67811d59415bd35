import { FencedError } from '@gateway/runtime/errors';
import { noteEnded, noteLasted, noteStart, readStarts } from '@gateway/store/fleet/starts/count-starts';
import { startPauseMs } from '@gateway/store/fleet/starts/start-pause';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'a' };

describe('the pause of a device whose owners fail one after the other', () => {
  it('begins after the fifth, doubles, and is never longer than two minutes', () => {
    expect([0, 1, 4].map((failed) => startPauseMs(failed))).to.deep.equal([0, 0, 0]);
    expect([5, 6, 7, 10, 99].map((failed) => startPauseMs(failed, 1))).to.deep.equal([
      5_000, 10_000, 20_000, 120_000, 120_000,
    ]);
  });

  it('is spread, so that devices of one process do not come back together', () => {
    expect([startPauseMs(10, 0), startPauseMs(10, 0.5)]).to.deep.equal([12_000, 66_000]);
  });

  describe('as Redis counts them', () => {
    let space: RedisSpace;
    beforeEach(async () => {
      space = await openRedisSpace();
    });
    afterEach(() => space.close());

    it('counts over owners, and from the beginning once one has lasted; a stale owner counts nothing', async () => {
      const { store } = space;
      const own = async () => (await takeDevice(store, address, { owner: 'a', ttlMs: 60_000 }))!;
      const counts: number[] = [];
      let ownership = await own();
      for (let i = 0; i < 3; i++) {
        counts.push(await noteStart(store, ownership));
        await giveDeviceBack(store, ownership);
        expect(await noteLasted(store, ownership).catch((thrown: unknown) => thrown)).to.be.instanceOf(FencedError);
        expect(await noteStart(store, ownership).catch((thrown: unknown) => thrown)).to.be.instanceOf(FencedError);
        ownership = await own();
      }
      await noteLasted(store, ownership);
      counts.push(await noteStart(store, ownership));
      expect(counts).to.deep.equal([1, 2, 3, 1]);
      expect(await readStarts(store, address)).to.equal(1);
    });

    it('does not count one that ended without a failure, also where its ownership was lost', async () => {
      const { store } = space;
      const counts: number[] = [];
      for (let i = 0; i < 4; i++) {
        const ownership = (await takeDevice(store, address, { owner: 'a', ttlMs: 60_000 }))!;
        counts.push(await noteStart(store, ownership));
        await giveDeviceBack(store, ownership);
        if (i > 0) await noteEnded(store, ownership);
      }
      expect(counts, 'the first one failed').to.deep.equal([1, 2, 2, 2]);
    });
  });
});
