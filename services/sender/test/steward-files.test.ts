import { deviceKeys, shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { SessionKeeper } from '@gateway/fleet/session-keeper';
import { systemClock } from '@gateway/runtime/clock';
import { defer } from '@gateway/runtime/deferred';
import { Steward } from '@gateway/sender/fleet/steward';
import { ensureDevice } from '@gateway/store/devices/devices';
import { beatHeart, leaveMembers } from '@gateway/store/fleet/members';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { readSend } from '@gateway/store/sends/read-send';
import { eventually } from '@gateway/testkit/eventually';
import { openRedisSpace } from '@gateway/testkit/redis-space';
import { silentLogger as logger } from '@gateway/testkit/silent-logger';
import { expect } from 'chai';

const OWNER = 'sender-1';
const SOON = { timeoutMs: 10_000 };

describe('files that wait for replicas', () => {
  it('hold up nothing else that is due', async () => {
    const space = await openRedisSpace();
    const away = defer<void>();
    let asked = 0;
    const store = {
      ...space.store,
      confirmWrites: () => {
        asked++;
        return away.promise;
      },
    };
    const address = { workspace: 'main', device: 'a' };
    const { due } = shardKeys(store.space, shardOf(address));
    await ensureDevice(space.store, address);
    await store.redis.sadd(deviceKeys(store.space, address).releasedBlobs, 'aa:10:bb');
    await store.redis.zadd(due, Date.now(), 'main/a');
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, recipients: ['491511'] },
      ...{ owner: 't', requestId: 'r', nowMs: Date.now(), expiresAtMs: Date.now() + 500 },
    });
    const keeper = new SessionKeeper({ store, clock: systemClock, logger, owner: OWNER, ttlMs: 60_000 });
    keeper.start();
    await beatHeart(space.store, { self: { id: OWNER, held: 0, capacity: 10 }, ttlMs: 60_000 });
    const producer = { addSend: async () => {}, close: async () => {} };
    // A turn is longer than is waited for.
    const steward = new Steward({ store, keeper, producer, clock: systemClock, logger, tickMs: 5, turnMs: 20_000 });
    try {
      await eventually(() => asked > 0, SOON);
      await eventually(async () => (await readSend(space.store, address, messageId))?.state === 'closed', SOON);
      expect(await store.redis.zscore(due, 'main/a'), 'it is due still').not.to.equal(null);
    } finally {
      away.resolve();
      await steward.stop();
      await keeper.stop();
      await leaveMembers(space.store, OWNER);
      await space.close();
    }
  });
});
