import { decodeDoorbell } from '@gateway/contracts/doorbell';
import { deviceKeys, doorbellChannel } from '@gateway/contracts/redis-keys';
import { SessionKeeper } from '@gateway/fleet/session-keeper';
import { systemClock } from '@gateway/runtime/clock';
import { FencedError } from '@gateway/runtime/errors';
import { createLogger } from '@gateway/runtime/logs/logger';
import type { Store } from '@gateway/store/core/store';
import { ensureDevice } from '@gateway/store/devices/devices';
import { eventually } from '@gateway/testkit/eventually';
import { endSessionOf, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const ADDRESSES = ['a', 'b'].map((device) => ({ workspace: 'main', device }));
const TTL_MS = 1_200;

describe('the ownerships of a process', () => {
  let space: RedisSpace;
  let keeper: SessionKeeper;
  let isRedisAway: boolean;
  /** Until then no session is opened. */
  let opening: Promise<void> | undefined;
  /** Until then no renewal is answered. */
  let renewing: Promise<void> | undefined;
  let aheadMs: number;
  /** What becomes of the answer to the next claim, once Redis has made it. */
  /** What the metrics heard. */
  let counted: string[];
  let renewals: number;
  /** Lines of the log. */
  let said: string[];
  /** Keys of owners. */
  let released: string[];
  let lateRenewals: number;
  let claimAnswer: 'heard' | 'lost' | 'askedForAgain';

  beforeEach(async () => {
    space = await openRedisSpace();
    for (const address of ADDRESSES) await ensureDevice(space.store, address);
    [isRedisAway, aheadMs, claimAnswer, opening, renewing] = [false, 0, 'heard', undefined, undefined];
    const run: Store['run'] = async (name, keys, args) => {
      if (isRedisAway) throw new Error('away');
      if (name === 'open-session') await opening;
      if (name === 'renew-sessions') renewals++;
      if (name === 'release-device') released.push(keys[0]!);
      if (name === 'renew-sessions') await renewing;
      if (name === 'claim-device' && claimAnswer !== 'heard') {
        await space.store.run(name, keys, args);
        if (claimAnswer === 'lost') throw new Error('lost');
      }
      return space.store.run(name, keys, args);
    };
    said = [];
    const logger = {
      ...createLogger({ service: 'test', level: 'error' }),
      warn: (line: string) => void said.push(line),
    };
    const clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
    counted = [];
    [renewals, released, lateRenewals] = [0, [], 0];
    const metrics = {
      countClaim: (outcome: string) => void counted.push(outcome),
      countLost: (cause: string) => void counted.push(cause),
      countLate: () => void lateRenewals++,
    };
    keeper = new SessionKeeper({ store: { ...space.store, run }, clock, logger, metrics, owner: 'a', ttlMs: TTL_MS });
  });
  afterEach(async () => {
    await keeper.stop();
    await space.close();
  });

  const takeBoth = async () =>
    (await Promise.all(ADDRESSES.map((address) => keeper.acquire(address)))).map((all) => all!);

  for (const answer of ['lost', 'askedForAgain'] as const) {
    it(`do not stay with no one when the answer to a claim is ${answer}`, async () => {
      claimAnswer = answer;
      const first = await keeper.acquire(ADDRESSES[0]!).catch(() => undefined);
      claimAnswer = 'heard';
      const held = first ?? (await keeper.acquire(ADDRESSES[0]!))!;
      held.assertHeld();
      expect(held.epoch).to.equal(1);
      expect(await keeper.acquire(ADDRESSES[0]!), 'for another role of the process').to.equal(undefined);
      await keeper.release(held);
      expect((await keeper.acquire(ADDRESSES[0]!))!.epoch).to.equal(2);
    });
  }

  it('are of one role, of those that claim a device at the same time', async () => {
    const claims = await Promise.all([1, 2, 3].map(() => keeper.acquire(ADDRESSES[0]!)));
    expect(claims.filter((held) => held !== undefined)).to.have.length(1);
  });

  it('are all given up with it', async () => {
    const held = await takeBoth();
    await keeper.stop();
    for (const ownership of held) {
      expect(ownership.lost.aborted).to.equal(true);
      expect(() => ownership.assertHeld()).to.throw(FencedError);
    }
  });

  it('that are over in Redis are noticed with the next beat, in one shard; the rest goes on, and the shard begins again', async () => {
    const [lost, kept] = await takeBoth();
    await endSessionOf(space.store, lost!);
    keeper.start();
    await eventually(() => lost!.lost.aborted);
    expect(() => lost!.assertHeld()).to.throw(FencedError);
    kept!.assertHeld();
    const again = (await keeper.acquire(ADDRESSES[0]!))!;
    expect(again.epoch).to.equal(lost!.epoch + 1);
    expect(again.token.split(':')[0], 'a session of its own').to.not.equal(lost!.token.split(':')[0]);
    again.assertHeld();
    expect(counted).to.deep.equal(['claimed', 'claimed', 'gone', 'claimed']);
  });

  it('count a renewal that comes after more than half of their life', async () => {
    await takeBoth();
    keeper.start();
    await eventually(() => renewals > 0);
    aheadMs = TTL_MS / 2 + 1;
    await eventually(() => lateRenewals > 0);
  });

  it('are renewed while a session of another shard cannot be opened, as its node hangs', async () => {
    const first = (await keeper.acquire(ADDRESSES[0]!))!;
    let answer = () => {};
    opening = new Promise((resolve) => {
      answer = resolve;
    });
    const second = keeper.acquire(ADDRESSES[1]!);
    keeper.start();
    await eventually(() => renewals > 0);
    first.assertHeld();
    answer();
    (await second)!.assertHeld();
  });

  it('are given back while renewals hang', async () => {
    const [ownership, kept] = await takeBoth();
    isRedisAway = true;
    await keeper.release(ownership!);
    [isRedisAway, renewing] = [false, new Promise(() => {})];
    keeper.start();
    await eventually(() => takeDevice(space.store, ADDRESSES[0]!, { owner: 'b', ttlMs: TTL_MS }));
    expect(renewals).to.be.above(0);
    kept!.assertHeld();
  });

  it('are said to have ended once, however many renewals were on their way', async () => {
    const { token } = (await keeper.acquire(ADDRESSES[0]!))!;
    // None is late by its own clock.
    aheadMs = -10 * TTL_MS;
    let answer = () => {};
    renewing = new Promise((resolve) => {
      answer = resolve;
    });
    keeper.start();
    await eventually(() => renewals > 2);
    await space.store.redis.del(`${space.prefix}:{#34}:session:${token.split(':')[0]}`);
    answer();
    await eventually(() => counted.includes('gone'));
    // Behind all of them.
    await space.store.redis.ping();
    expect(said).to.deep.equal(['session ended']);
  });

  it('that were not renewed in time are not renewed at all', async () => {
    const [late] = await takeBoth();
    aheadMs = TTL_MS;
    const readTtl = () => space.store.redis.pttl(`${space.prefix}:{#34}:session:${late!.token.split(':')[0]}`);
    const ttlMs = await readTtl();
    expect(ttlMs).to.be.above(0);
    keeper.start();
    await eventually(() => late!.lost.aborted);
    expect(await readTtl()).to.be.at.most(ttlMs);
    expect(new Set(counted.slice(2))).to.deep.equal(new Set(['late']));
  });

  it('are over for the process when they are given back without Redis, and there as soon as it is back', async () => {
    const [ownership, kept] = await takeBoth();
    isRedisAway = true;
    await keeper.release(ownership!);
    expect(ownership!.lost.aborted).to.equal(true);
    const other = { owner: 'b', ttlMs: TTL_MS };
    expect(await takeDevice(space.store, ADDRESSES[0]!, other), 'still there').to.equal(undefined);
    isRedisAway = false;
    keeper.start();
    const next = await eventually(() => takeDevice(space.store, ADDRESSES[0]!, other));
    expect(next.epoch).to.equal(ownership!.epoch + 1);
    kept!.assertHeld();
  });

  it('that were given back stay so when a failover forgets it', async () => {
    const [ownership, kept] = await takeBoth();
    keeper.start();
    await keeper.release(ownership!);
    const { owner } = deviceKeys(space.store.space, ADDRESSES[0]!);
    const bells: string[] = [];
    space.clients.subscriber.on('message', (_, bell) => bells.push(bell));
    await space.clients.subscriber.subscribe(doorbellChannel(space.store.space));
    await space.store.redis.set(owner, ownership!.token);
    expect(await keeper.acquire(ADDRESSES[0]!), 'as if it were ours').to.equal(undefined);
    const next = await eventually(() => takeDevice(space.store, ADDRESSES[0]!, { owner: 'b', ttlMs: TTL_MS }));
    expect(next.epoch).to.equal(ownership!.epoch + 1);
    await eventually(() => decodeDoorbell(bells.at(-1) ?? '')?.topic === 'owner', { what: 'others hear of it' });
    kept!.assertHeld();
  });

  it('that were given back are not given back for ever', async () => {
    const [ownership, later] = await takeBoth();
    const { owner } = deviceKeys(space.store.space, ADDRESSES[0]!);
    const releasesOf = (key: string) => released.filter((each) => each === key).length;
    await keeper.release(ownership!);
    aheadMs = 31_000;
    keeper.start();
    await eventually(() => releasesOf(owner) === 2);
    // With each beat from now on.
    await keeper.release(later!);
    const before = released.length;
    await eventually(() => released.length >= before + 3);
    expect(releasesOf(owner)).to.equal(2);
  });
});
