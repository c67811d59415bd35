import { parseMessageId } from '@gateway/contracts/ids';
import { sendKeys, shardKeys } from '@gateway/contracts/redis-keys';
import { RECORD_VERSION } from '@gateway/contracts/sends/send-layout';
import { shardOf } from '@gateway/contracts/shards';
import { systemClock } from '@gateway/runtime/clock';
import { FencedError } from '@gateway/runtime/errors';
import { TakeIns } from '@gateway/sender/preparing/take-ins';
import { UnknownVersionError } from '@gateway/store/core/scripts/unknown-version-error';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readSend } from '@gateway/store/sends/read-send';
import { readTotals } from '@gateway/store/sends/read-totals';
import type { TakenSend } from '@gateway/store/sends/take-in-sends';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { rewriteHead } from '@gateway/testkit/sends/rewrite-head';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };

describe('TakeIns', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  /** Names of the scripts that ran. */
  let steps: string[];
  let takeIns: TakeIns;

  beforeEach(async () => {
    space = await openRedisSpace();
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
    steps = [];
    const run: RedisSpace['store']['run'] = (name, keys, args) => {
      steps.push(name);
      return space.store.run(name, keys, args);
    };
    takeIns = new TakeIns({ store: { ...space.store, run }, ownership, clock: systemClock });
  });
  afterEach(() => space.close());

  async function accept(to: string, { parts = 1, text = `for ${to}` } = {}) {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text }, parts, owner: 't', requestId: 'r' },
      ...{ recipients: [to], nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
    return { messageId, tag: parseMessageId(messageId)!.tag };
  }
  const take = async ({ tag }: { tag: string }) => {
    const taken = await takeIns.take(tag);
    return taken && [taken.record.messageId, taken.recipients.map(({ to }) => to), taken.stored];
  };
  const stored = (to: string) => ({ content: { kind: 'text', text: `for ${to}` } });
  const dueAt = async () => {
    const found = await space.store.redis.zrange(
      shardKeys(space.store.space, shardOf(address)).due,
      '0',
      '-1',
      'WITHSCORES',
    );
    return new Map(found.flatMap((entry, i) => (i % 2 ? [] : [[entry.split('/')[2]!, Number(found[i + 1])]])));
  };

  it('reads in one step what is asked for in one moment, each with its own content', async () => {
    const [ada, ben, later] = [await accept('491511'), await accept('491512'), await accept('491513')];
    const [first, second, noted] = await Promise.all([take(ada), take(ben), takeIns.note(later.tag)]);
    expect(first).to.deep.equal([ada.messageId, ['491511'], stored('491511')]);
    expect(second).to.deep.equal([ben.messageId, ['491512'], stored('491512')]);
    expect(noted).to.equal(undefined);
    expect(steps).to.deep.equal(['take-in-sends']);
    expect(await take(later)).to.deep.equal([later.messageId, ['491513'], stored('491513')]);
    expect(steps).to.have.length(2);
    const inAMinute = Date.now() + 50_000;
    expect(
      [...(await dueAt()).values()].every((dueMs) => dueMs > inAMinute),
      'no process wakes this owner',
    ).to.equal(true);
  });

  it('takes in one that is large, and reads it when that is asked for; what is heard with it is read', async () => {
    const [large, small] = [await accept('491511', { text: 'x'.repeat(17_000) }), await accept('491512')];
    const [first, second] = await Promise.all([takeIns.takeSmall(large.tag), takeIns.takeSmall(small.tag)]);
    expect(first).to.equal('large');
    expect((second as TakenSend).stored).to.deep.equal(stored('491512'));
    const inAMinute = Date.now() + 50_000;
    expect([...(await dueAt()).values()].filter((dueMs) => dueMs > inAMinute)).to.have.length(2);
    expect((await takeIns.take(large.tag))!.recipients.map(({ to }) => to)).to.deep.equal(['491511']);
  });

  it('ends those whose time is over, each with its counts, and reads the others', async () => {
    const [over, former, own, gone] = [
      await accept('491511', { parts: 2 }),
      await accept('491512'),
      await accept('491513'),
      { tag: '0000000000000' },
    ];
    await rewriteHead(space.store, address, over.messageId, { expiresAt: systemClock.nowMs() });
    await rewriteHead(space.store, address, former.messageId, { accountEpoch: 7 });
    const taken = await Promise.all([over, former, own, gone].map(take));
    expect(taken).to.deep.equal([undefined, undefined, [own.messageId, ['491513'], stored('491513')], undefined]);
    expect(steps).to.deep.equal(['take-in-sends']);
    const states = [over, former, own].map(async ({ messageId }) => (await readSend(space.store, address, messageId))!);
    const records = await Promise.all(states);
    expect(records.map(({ state }) => state)).to.deep.equal(['closed', 'closed', 'open']);
    expect([...(await dueAt()).keys()]).to.deep.equal([own.tag]);
    const { text } = (await readTotals(space.store)).kinds;
    expect(text.now).to.include({ queued: 1, expired: 1, cancelled: 1 });
  });

  it('reads the others when one is of a version that only others know', async () => {
    const [foreign, own] = [await accept('491511'), await accept('491512')];
    await rewriteHead(space.store, address, foreign.messageId, { version: RECORD_VERSION + 1 });
    const refusal = take(foreign).catch((thrown: unknown) => thrown);
    expect(await take(own)).to.deep.equal([own.messageId, ['491512'], stored('491512')]);
    expect(await refusal).to.be.instanceOf(UnknownVersionError);
    expect(steps).to.deep.equal(['take-in-sends']);
  });

  it('reads the others when one is broken', async () => {
    const [broken, own] = [await accept('491511'), await accept('491512')];
    await space.store.redis.set(sendKeys(space.store.space, address, broken.tag).record, Buffer.of(RECORD_VERSION));
    const refusal = take(broken).catch((thrown: unknown) => thrown);
    expect(await take(own)).to.deep.equal([own.messageId, ['491512'], stored('491512')]);
    expect(await refusal).to.be.instanceOf(Error);
    expect(steps).to.deep.equal(['take-in-sends']);
  });

  it('refuses a stale owner all of them', async () => {
    const sends = [await accept('491511'), await accept('491512')];
    const before = await dueAt();
    await giveDeviceBack(space.store, ownership);
    const refused = await Promise.allSettled(sends.map(take));
    for (const outcome of refused)
      expect(outcome.status === 'rejected' && outcome.reason).to.be.instanceOf(FencedError);
    expect(await dueAt()).to.deep.equal(before);
  });
});
