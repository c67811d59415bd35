import { EVENT_ENTRY_VERSION } from '@gateway/contracts/events/entry';
import { shardKeys, workspaceKeys } from '@gateway/contracts/redis-keys';
import { openEvents } from '@gateway/store/events/open-events';
import { logTimeOf } from '@gateway/store/events/outboxes/late-entries';
import { relayOutbox } from '@gateway/store/events/relay-outbox';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const HOUR_MS = 3_600_000;
const SLACK_MS = 70_000;
const OUTBOX = { workspace: 'main', shard: 0 };

describe('what comes into a log long after it happened', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
    await openEvents(space.store, 'main');
  });
  afterEach(() => space.close());
  const marks = () => workspaceKeys(space, 'main').eventMarks;
  const letCome = async (...agoMs: number[]) => {
    for (const ago of agoMs) {
      const entry = Buffer.alloc(8);
      entry.writeUInt8(EVENT_ENTRY_VERSION, 0);
      entry.writeUIntBE(Date.now() - ago, 1, 6);
      await space.store.redis.xadd(shardKeys(space, 0).outbox('main'), '*', 'e', entry);
    }
    await relayOutbox(space.store, OUTBOX);
  };

  it('is found by its time, which nothing else makes any longer', async () => {
    const sinceMs = Date.now() - 5 * HOUR_MS;
    expect(await logTimeOf(space.store, 'main', sinceMs), 'of before that was noted').to.be.within(
      Date.now() - 60_000,
      Date.now(),
    );
    await space.store.redis.hset(marks(), 'lateFromMs', sinceMs);
    await letCome(0, 10_000);
    expect(await logTimeOf(space.store, 'main', sinceMs)).to.equal(sinceMs + SLACK_MS);
    await letCome(2 * HOUR_MS, 3 * HOUR_MS);
    await letCome(2 * HOUR_MS);
    expect(await logTimeOf(space.store, 'main', Date.now() - 3 * HOUR_MS - 60_000)).to.be.below(
      Date.now() - 2 * HOUR_MS,
    );
    expect(await logTimeOf(space.store, 'main', Date.now() - 3 * HOUR_MS + 60_000)).to.be.above(Date.now());
  });

  it('is noted for as long as the log goes back', async () => {
    const hour = Math.floor(Date.now() / HOUR_MS);
    const fields = [hour - 170, hour - 167].map((each) => `late:${each}`);
    for (const field of fields) await space.store.redis.hset(marks(), field, 1);
    await letCome(HOUR_MS);
    expect(await space.store.redis.hmget(marks(), ...fields)).to.deep.equal([null, '1']);
    expect(await space.store.redis.hexists(marks(), 'isOpen')).to.equal(1);
  });
});
