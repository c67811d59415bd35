import { SessionKeeper } from '@gateway/fleet/session-keeper';
import { systemClock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { FencedError, toError } from '@gateway/runtime/errors';
import { MasterInDoubtError, Standing } from '@gateway/store/core/confirming/standing';
import type { Store } from '@gateway/store/core/store';
import { ensureDevice } from '@gateway/store/devices/devices';
import { eventually } from '@gateway/testkit/eventually';
import { sessionKeyOf } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const [FIRST, SECOND] = ['a', 'b'].map((device) => ({ workspace: 'main', device })) as [Address, Address];
const TTL_MS = 2_000;
type Address = { workspace: string; device: string };

describe('the devices of a process whose master may have been replaced', () => {
  let space: RedisSpace;
  let keeper: SessionKeeper;
  let stands: boolean;
  let questions: number;
  let renewals: number;
  let opened: number;
  /** Until then no question is answered. */
  let answering: Promise<void> | undefined;
  let aheadMs: number;
  let told: string[];

  beforeEach(async () => {
    space = await openRedisSpace();
    for (const address of [FIRST, SECOND]) await ensureDevice(space.store, address);
    [stands, questions, renewals, opened, answering, aheadMs, told] = [true, 0, 0, 0, undefined, 0, []];
    const run: Store['run'] = async (name, keys, args) => {
      const reply = await space.store.run(name, keys, args);
      if (name === 'renew-sessions') renewals++;
      if (name === 'open-session') opened++;
      return reply;
    };
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    const standing = new Standing({
      masterStands: async () => {
        questions++;
        await answering;
        if (!stands) throw new Error('no one confirms it');
        return true;
      },
      ...{ clock, freshMs: TTL_MS / 4, meanwhile: 'none is held' },
      logger: { warn: (line) => void told.push(`warn ${line}`), info: (line) => void told.push(`info ${line}`) },
    });
    const store = { ...space.store, run };
    keeper = new SessionKeeper({ store, clock, standing, logger: silentLogger, owner: 'a', ttlMs: TTL_MS });
    keeper.start();
  });
  afterEach(async () => {
    await keeper.stop();
    await space.close();
  });

  /** More renewals than a session needs to outlive its TTL. */
  async function renewsForAWhile(): Promise<void> {
    const before = renewals;
    await eventually(() => renewals > before + 6);
  }

  it('are held for as long as it stands, with one question for each beat', async () => {
    const held = (await keeper.acquire(FIRST))!;
    await renewsForAWhile();
    held.assertHeld();
    expect(questions, 'with that of the first device').to.be.at.most(renewals + 1);
    expect(told).to.deep.equal([]);
  });

  it('are lost in the time for which it was renewed, though it goes on renewing; none is taken before it stands again', async () => {
    const held = (await keeper.acquire(FIRST))!;
    stands = false;
    const fromMs = performance.now();
    let heldAtMs = fromMs;
    await eventually(() => {
      const nowMs = performance.now();
      try {
        held.assertHeld();
        heldAtMs = nowMs;
        return false;
      } catch (thrown) {
        return thrown instanceof FencedError;
      }
    });
    expect(heldAtMs - fromMs).to.be.below(TTL_MS);
    expect(held.lost.aborted).to.equal(true);
    expect(await space.store.redis.exists(sessionKeyOf(space.store, held)), 'in Redis').to.equal(1);
    const openedBefore = opened;
    for (const address of [FIRST, SECOND])
      expect(await keeper.acquire(address).catch(toError)).to.be.instanceOf(MasterInDoubtError);
    expect(await keeper.openIn(1).catch(toError), 'for roles').to.be.instanceOf(MasterInDoubtError);
    expect(opened).to.equal(openedBefore);
    stands = true;
    const again = await eventually(() => keeper.acquire(FIRST));
    again.assertHeld();
    await renewsForAWhile();
    again.assertHeld();
    expect(told.map((line) => line.split(' ')[0])).to.deep.equal(['warn', 'info']);
  });

  it('are not joined by others while their own time is not over', async () => {
    const held = (await keeper.acquire(FIRST))!;
    stands = false;
    await eventually(() => told.length > 0);
    held.assertHeld();
    expect(await keeper.acquire(SECOND).catch(toError)).to.be.instanceOf(MasterInDoubtError);
  });

  it('ask once for many that are tried in vain', async () => {
    stands = false;
    const tries = Array.from({ length: 20 }, () => keeper.acquire(FIRST).catch(toError));
    await Promise.all(tries);
    await keeper.openIn(1).catch(toError);
    expect(questions).to.equal(1);
  });

  it('are held no longer than from the question on, however late its answer comes', async () => {
    const held = (await keeper.acquire(FIRST))!;
    const answer = defer<void>();
    answering = answer.promise;
    const before = renewals;
    await eventually(() => renewals > before && questions > before + 1);
    // As if the answer took all of that time.
    aheadMs = TTL_MS;
    answer.resolve();
    await eventually(() => held.lost.aborted);
    expect(() => held.assertHeld()).to.throw(FencedError);
  });
});
