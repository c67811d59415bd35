import { parseMessageId } from '@gateway/contracts/ids';
import { LIMITS } from '@gateway/contracts/limits';
import { deviceKeys, sendKeys, shardKeys } from '@gateway/contracts/redis-keys';
import { shardOf } from '@gateway/contracts/shards';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { ensureDevice, readAccountEpoch } from '@gateway/store/devices/devices';
import type { Ownership } from '@gateway/store/fleet/ownership';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, claimRecipient, type RecipientEvent, recordResults } from '@gateway/store/sends/change-send';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { readContent, readRecipients, readSend } from '@gateway/store/sends/read-send';
import { endSessionOf, giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expireSends } from '@gateway/testkit/sends/expire-sends';
import { rewriteHead } from '@gateway/testkit/sends/rewrite-head';
import { takeInSend } from '@gateway/testkit/sends/take-in-send';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'phone-1' };
const ERASURE_MS = LIMITS.otpErasureSeconds * 1000;
const RETENTION_MS = LIMITS.sendRetentionSeconds * 1000;

describe('the rules of a send', () => {
  let space: RedisSpace;
  let ownership: Ownership;
  let nowMs: number;
  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
    ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
    nowMs = Date.now();
  });
  afterEach(() => space.close());

  const due = () => shardKeys(space.store.space, shardOf(address)).due;
  async function accept({ kind = 'text' as 'text' | 'otp', parts = 1, recipients = ['4915112345670'] } = {}) {
    const { messageId, owner } = await acceptSend(space.store, address, {
      ...{ kind, content: { kind: 'text', text: 'hello' }, parts, recipients },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
    });
    return { messageId, owner, tag: parseMessageId(messageId)!.tag };
  }
  const record = (
    tag: string,
    event: RecipientEvent['event'],
    { part = 0, recipient = 0, errorCode = 463, atMs = nowMs } = {},
  ) => recordResults(space.store, ownership, { tag, nowMs: atMs, events: [{ recipient, part, event, errorCode }] });
  const claim = (tag: string, part = 0) => claimRecipient(space.store, ownership, { tag, recipient: 0, part, nowMs });
  const statusAfter = async (tag: string, event: RecipientEvent['event'], options = {}) =>
    (await record(tag, event, options))[0];
  const read = async (messageId: string) => (await readSend(space.store, address, messageId))!;
  const hasContent = async (tag: string) => (await readContent(space.store, address, tag)) !== undefined;
  const keysOf = (tag: string) => sendKeys(space.store.space, address, tag);
  const device = () => deviceKeys(space.store.space, address);

  it('what a phone has does not fail any more, whatever the network says afterwards', async () => {
    const { messageId, tag } = await accept();
    expect(await statusAfter(tag, 'delivered')).to.equal('delivered');
    expect(await statusAfter(tag, 'failed')).to.equal('delivered');
    expect(await statusAfter(tag, 'revoked')).to.equal('delivered');
    expect((await read(messageId)).counts).to.include({ delivered: 1, failed: 0 });
  });

  it('what has failed, or was cancelled, stays so', async () => {
    const failed = await accept();
    await record(failed.tag, 'failed');
    expect(await statusAfter(failed.tag, 'acked')).to.equal('failed');
    expect(await statusAfter(failed.tag, 'read')).to.equal('failed');
    const cancelled = await accept();
    await cancelSend(space.store, address, cancelled.messageId);
    expect(await statusAfter(cancelled.tag, 'acked')).to.equal('cancelled');
    expect(await claim(cancelled.tag)).to.equal('settled');
  });

  it('counts as sent, delivered or read only with all its parts', async () => {
    const { messageId, tag } = await accept({ parts: 2 });
    expect((await readDeviceState(space.store, address)).waitingMessages).to.equal(2);
    expect(await statusAfter(tag, 'acked')).to.equal('queued');
    expect(await claim(tag), 'that part is there').to.equal('settled');
    expect(await claim(tag, 1)).to.equal('claimed');
    expect(await statusAfter(tag, 'acked', { part: 1 })).to.equal('sent');
    expect(await statusAfter(tag, 'delivered')).to.equal('sent');
    expect(await statusAfter(tag, 'delivered', { part: 1 })).to.equal('delivered');
    expect(await statusAfter(tag, 'read')).to.equal('delivered');
    expect(await statusAfter(tag, 'read', { part: 1 })).to.equal('read');
    expect((await readDeviceState(space.store, address)).waitingMessages).to.equal(0);
    expect((await read(messageId)).state).to.equal('closed');
  });

  it('never calls cancelled what may have arrived by an attempt before the last one', async () => {
    const { messageId, tag } = await accept();
    await claim(tag);
    // The process died before the ack; the next owner tries again, and hears that this attempt did not arrive.
    await claim(tag);
    expect(await statusAfter(tag, 'returned')).to.equal('queued');
    expect(await cancelSend(space.store, address, messageId)).to.deep.equal({ cancelled: 0 });
    expect(await statusAfter(tag, 'returned')).to.equal('queued');
    expect(await claim(tag), 'it goes on').to.equal('claimed');
  });

  it('calls cancelled what is known not to have arrived, as soon as that is known', async () => {
    const { messageId, tag } = await accept();
    await claim(tag);
    expect(await cancelSend(space.store, address, messageId)).to.deep.equal({ cancelled: 0 });
    expect(await statusAfter(tag, 'returned')).to.equal('cancelled');
    expect((await read(messageId)).state).to.equal('closed');
  });

  it('is tried again when it is returned, and not cancelled, without a cancel', async () => {
    const { tag } = await accept();
    await claim(tag);
    expect(await statusAfter(tag, 'returned')).to.equal('queued');
    expect(await statusAfter(tag, 'held')).to.equal('queued');
    expect(await claim(tag)).to.equal('claimed');
  });

  it('waits for its acks at a cancel also when only the claim is known', async () => {
    const { messageId, tag } = await accept();
    await claim(tag);
    await record(tag, 'held');
    await record(tag, 'revoked');
    expect(await cancelSend(space.store, address, messageId), 'still in flight').to.deep.equal({ cancelled: 0 });
  });

  it('is not claimed once it is cancelled or expired, nor out of range', async () => {
    const { tag, messageId } = await accept({ recipients: ['4915112345670', '4915112345671'] });
    expect(await claimRecipient(space.store, ownership, { tag, recipient: 7, part: 0, nowMs })).to.equal('settled');
    expect(await claim('0000000000000'), 'of a send that has gone').to.equal('settled');
    expect(
      await claimRecipient(space.store, ownership, { tag, recipient: 0, part: 0, nowMs: nowMs + 60_000 }),
    ).to.equal('expired');
    expect(await record(tag, 'acked', { recipient: 7 })).to.deep.equal([undefined]);
    await cancelSend(space.store, address, messageId);
    expect(await claim(tag)).to.equal('settled');
  });

  it('never expires early, nor for recipients who have it', async () => {
    const { messageId, tag } = await accept({ recipients: ['4915112345670', '4915112345671'] });
    await record(tag, 'acked');
    await expireSends(space.store, ownership, nowMs);
    expect((await read(messageId)).counts).to.include({ expired: 0, queued: 1 });
    await expireSends(space.store, ownership, nowMs + 60_001);
    expect((await read(messageId)).counts).to.include({ expired: 1, sent: 1 });
  });

  it('lives for its retention once it is closed, with all its keys, and is open nowhere', async () => {
    const { messageId, tag } = await accept();
    expect(await space.clients.commands.pttl(keysOf(tag).record)).to.equal(-1);
    await record(tag, 'acked');
    for (const key of Object.values(keysOf(tag))) {
      expect(await space.clients.commands.pttl(key), key).to.be.within(RETENTION_MS - 60_000, RETENTION_MS);
    }
    expect(await space.clients.commands.zscore(device().openSends, messageId)).to.equal(null);
    expect((await readDeviceState(space.store, address)).waitingMessages).to.equal(0);
  });

  it('says when it was cancelled first', async () => {
    const { messageId, tag } = await accept();
    await claim(tag);
    for (const atMs of [nowMs + 5, nowMs + 9]) await cancelSend(space.store, address, messageId, { nowMs: atMs });
    expect(await read(messageId)).to.include({ state: 'open', cancelledAtMs: nowMs + 5 });
  });

  it('lives no longer for what is heard of it after its end', async () => {
    const { tag } = await accept();
    await record(tag, 'acked');
    const deaths = () => Promise.all(Object.values(keysOf(tag)).map((key) => space.store.redis.pexpiretime(key)));
    const before = await deaths();
    expect(await statusAfter(tag, 'read', { atMs: nowMs + 60_000 })).to.equal('read');
    expect(await deaths()).to.deep.equal(before);
  });

  it('is open, counted, and due in two seconds, as soon as it is accepted', async () => {
    const { messageId, tag } = await accept({ parts: 2 });
    const { redis } = space.store;
    expect(await listOpenSends(space.store, address)).to.deep.equal([messageId]);
    expect((await readDeviceState(space.store, address)).waitingMessages).to.equal(2);
    const [entry, dueMs] = await redis.zrange(due(), '0', '-1', 'WITHSCORES');
    expect(entry).to.equal(`main/phone-1/${tag}`);
    expect(Number(dueMs)).to.be.within(nowMs + 2_000, Date.now() + 2_000);
    await cancelSend(space.store, address, messageId);
    expect(await redis.zcard(due())).to.equal(0);
  });

  it('is due at its end when its owner has taken it in, which gives all there is to know of it', async () => {
    const { messageId, tag } = await accept({ parts: 2, recipients: ['4915112345670', '4915112345671'] });
    const takeIn = () => takeInSend(space.store, ownership, { tag, nowMs });
    const taken = await takeIn();
    expect(taken?.record).to.deep.equal(await read(messageId));
    expect(taken?.recipients).to.deep.equal(await readRecipients(space.store, address, tag, { from: 0, limit: 10 }));
    expect(taken?.stored).to.deep.equal({ content: { kind: 'text', text: 'hello' } });
    expect(await space.store.redis.zrange(due(), '0', '-1', 'WITHSCORES')).to.deep.equal([
      ...[`main/phone-1/${tag}`, String(nowMs + 60_000)],
    ]);
    await cancelSend(space.store, address, messageId);
    expect(await takeIn(), 'nothing is left to do').to.equal(undefined);
    expect(await space.store.redis.zcard(due())).to.equal(0);
  });

  it('tells who accepts it which process is to hear of it: the owner, while its session lives', async () => {
    expect((await accept()).owner).to.equal('a');
    await endSessionOf(space.store, ownership);
    expect((await accept()).owner).to.equal(undefined);
    await giveDeviceBack(space.store, ownership);
    expect((await accept()).owner).to.equal(undefined);
  });

  it('is erased a while after its first ack when it is an OTP: no later news put that off', async () => {
    const { tag } = await accept({ kind: 'otp' });
    await record(tag, 'acked');
    await record(tag, 'acked', { atMs: nowMs + ERASURE_MS - 1 });
    expect(await space.clients.commands.pexpiretime(keysOf(tag).content)).to.equal(nowMs + ERASURE_MS);
    expect(await hasContent(tag)).to.equal(true);
  });

  it('is erased at once when an OTP is delivered', async () => {
    const { tag } = await accept({ kind: 'otp' });
    await record(tag, 'acked');
    await record(tag, 'delivered');
    expect(await hasContent(tag)).to.equal(false);
  });

  it('keeps its content while it is no OTP, or its OTP is still to be sent', async () => {
    const [text, otp] = [await accept(), await accept({ kind: 'otp' })];
    await record(text.tag, 'delivered');
    await record(otp.tag, 'held');
    expect([await hasContent(text.tag), await hasContent(otp.tag)]).to.deep.equal([true, true]);
  });

  it('says when an OTP was accepted, by the first that tells of it', async () => {
    const { messageId, tag } = await accept({ kind: 'otp' });
    await record(tag, 'delivered', { atMs: nowMs + 5 });
    await record(tag, 'read', { atMs: nowMs + 9 });
    expect((await read(messageId)).sentAtMs).to.equal(nowMs + 5);
  });

  it('never takes the place of another send', async () => {
    const { messageId, tag } = await accept();
    const epoch = await readAccountEpoch(space.store, address);
    const again = ['msg_other', epoch, nowMs, 'packed', 'sealed', nowMs, nowMs, '', '', '', 0, 't', 0, 0, 1];
    const { base, openSends, backlog, keptSends, device: ofDevice, owner } = device();
    const kept = [
      openSends,
      due(),
      backlog,
      keptSends,
      `${base}:sends`,
      `${base}:activity`,
      `${base}:totals`,
      `${base}:promised`,
    ];
    const places = [...Object.values(keysOf(tag)), ...kept, ofDevice, owner];
    expect(await space.store.run('accept-send', places, again)).to.deep.equal([0, '0']);
    expect((await read(messageId)).messageId).to.equal(messageId);
  });

  it('lets no message out once it is marked as cancelled, also where its recipient is not yet', async () => {
    const { messageId, tag } = await accept();
    await rewriteHead(space.store, address, messageId, { cancelledAt: nowMs });
    expect(await claim(tag)).to.equal('cancelled');
  });

  it('is closed when all that was left of it has expired', async () => {
    const { messageId } = await accept();
    await expireSends(space.store, ownership, nowMs + 60_001);
    expect((await read(messageId)).state).to.equal('closed');
  });
});
