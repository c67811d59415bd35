import { parseMessageId } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import { ensureDevice } from '@gateway/store/devices/devices';
import { takeAccount } from '@gateway/store/devices/take-account';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, claimRecipient, type RecipientEvent, recordResults } from '@gateway/store/sends/change-send';
import { readContent } from '@gateway/store/sends/read-send';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expireSends } from '@gateway/testkit/sends/expire-sends';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };
const TEN_MINUTES_MS = 10 * 60_000;

describe('the content of an OTP', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  let messageId: string;
  const tag = () => parseMessageId(messageId)!.tag;
  const content = async () => (await readContent(space.store, address, tag()))?.content;
  const ttlMs = () => space.store.redis.pttl(sendKeys(space.store.space, address, tag()).content);
  const record = (event: RecipientEvent['event']) =>
    recordResults(space.store, ownership, {
      tag: tag(),
      nowMs: Date.now(),
      events: [{ recipient: 0, part: 0, event }],
    });

  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
    const nowMs = Date.now();
    const send = await acceptSend(space.store, address, {
      ...{
        kind: 'otp',
        content: { kind: 'text', text: '*123456* is your code' },
        parts: 1,
        recipients: ['4915112345670'],
      },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 300_000 },
    });
    messageId = send.messageId;
  });
  afterEach(() => space.close());

  for (const event of ['delivered', 'read', 'failed'] as const) {
    it(`is erased when it was ${event}`, async () => {
      expect(await content()).to.have.property('text');
      await record(event);
      expect(await content()).to.equal(undefined);
    });
  }

  it('is kept after the ack, as the phone may ask for it again, and erased 10 minutes later', async () => {
    await record('acked');
    expect(await content()).to.have.property('text');
    expect(await ttlMs()).to.be.within(TEN_MINUTES_MS - 5_000, TEN_MINUTES_MS);
  });

  it('is erased by itself when no process lives to see that it has expired', async () => {
    expect(await ttlMs()).to.be.within(300_000, 300_000 + TEN_MINUTES_MS);
  });

  it('is erased when it expires', async () => {
    await expireSends(space.store, ownership, Date.now() + 300_001);
    expect(await content()).to.equal(undefined);
  });

  it('is erased when it expires although the phone may have it', async () => {
    await claimRecipient(space.store, ownership, { tag: tag(), recipient: 0, part: 0, nowMs: Date.now() });
    await expireSends(space.store, ownership, Date.now() + 300_001);
    expect(await content()).to.equal(undefined);
  });

  it('is erased with the account that it was for, although the phone may have it', async () => {
    await claimRecipient(space.store, ownership, { tag: tag(), recipient: 0, part: 0, nowMs: Date.now() });
    const take = (phone: string) => takeAccount(space.store, ownership, { phone, nowMs: Date.now() });
    for (const phone of ['447700900123', '447700900124']) await take(phone);
    expect(await content()).to.equal(undefined);
  });

  it('is erased when it is cancelled', async () => {
    await cancelSend(space.store, address, messageId);
    expect(await content()).to.equal(undefined);
  });
});
