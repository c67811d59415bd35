import { KIND_CODES } from '@gateway/contracts/content/message-content';
import { parseMessageId } from '@gateway/contracts/ids';
import { shardKeys } from '@gateway/contracts/redis-keys';
import { RECIPIENT_STATUSES, type RecipientStatus } from '@gateway/contracts/sends/statuses';
import { TOTAL_BYTES } from '@gateway/contracts/sends/totals';
import { shardOf } from '@gateway/contracts/shards';
import { ensureDevice } from '@gateway/store/devices/devices';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { recordResults } from '@gateway/store/sends/change-send';
import { NO_ACCOUNT } from '@gateway/testkit/chaos/account-for';
import { compareTotals } from '@gateway/testkit/chaos/compare-totals';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const ADDRESS = { workspace: 'main', device: 'phone-1' };
/** What was sent below: three, of whom one failed, one was read, and one has it. */
const ACCOUNT = { ...NO_ACCOUNT, recipients: 3, shown: 2, failed: 1 };

describe('the comparison of totals with promises and phones, after a chaos run', () => {
  let space: RedisSpace;
  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, ADDRESS);
    const nowMs = Date.now();
    const { messageId } = await acceptSend(space.store, ADDRESS, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 1, owner: 't', requestId: 'r' },
      ...{ recipients: ['491511234561', '491511234562', '491511234563'], nowMs, expiresAtMs: nowMs + 60_000 },
    });
    const ownership = (await takeDevice(space.store, ADDRESS, { owner: 'a', ttlMs: 60_000 }))!;
    await recordResults(space.store, ownership, {
      ...{ tag: parseMessageId(messageId)!.tag, nowMs },
      events: [
        { recipient: 0, event: 'read', part: 0 },
        { recipient: 1, event: 'acked', part: 0 },
        { recipient: 2, event: 'failed', part: 0, errorCode: 463 },
      ],
    });
  });
  afterEach(() => space.close());

  const totals = () => shardKeys(space.store.space, shardOf(ADDRESS)).totals;
  /** As a step would that counts once too often. */
  async function miscount(status: RecipientStatus): Promise<void> {
    const at = (KIND_CODES.text * 2 * RECIPIENT_STATUSES.length + RECIPIENT_STATUSES.indexOf(status)) * TOTAL_BYTES;
    const bytes = (await space.store.redis.getBuffer(totals()))!;
    bytes.writeUIntBE(bytes.readUIntBE(at, TOTAL_BYTES) + 1, at, TOTAL_BYTES);
    await space.store.redis.set(totals(), bytes);
  }

  it('finds no difference where there is none', async () => {
    expect(await compareTotals(space.store, ACCOUNT)).to.equal(0);
  });

  for (const status of ['queued', 'sent', 'delivered', 'read', 'failed', 'expired', 'cancelled'] as const) {
    it(`finds one recipient too many that came to ${status}`, async () => {
      await miscount(status);
      expect(await compareTotals(space.store, ACCOUNT)).to.be.above(0);
    });
  }

  it('finds a failure that has no error, or one too many', async () => {
    await space.store.redis.hincrby(`${totals()}:errors`, '463', 1);
    expect(await compareTotals(space.store, ACCOUNT)).to.equal(1);
    await space.store.redis.hincrby(`${totals()}:errors`, '463', -2);
    expect(await compareTotals(space.store, ACCOUNT)).to.equal(1);
  });

  it('finds a phone that shows one more, or one less', async () => {
    expect(await compareTotals(space.store, { ...ACCOUNT, shown: 3 })).to.equal(1);
    expect(await compareTotals(space.store, { ...ACCOUNT, shown: 1, failed: 2 })).to.equal(2);
  });
});
