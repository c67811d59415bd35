import type { SendKind } from '@gateway/contracts/content/message-content';
import { parseMessageId } from '@gateway/contracts/ids';
import { sendKeys } from '@gateway/contracts/redis-keys';
import { recipientErrorName } from '@gateway/contracts/sends/recipient-errors';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { claimRecipient, forgetRecipient, recordResults } from '@gateway/store/sends/change-send';
import { findSends, readContent, readRecipients, readSend } from '@gateway/store/sends/read-send';
import { expect } from 'chai';
import { KNOWN, OTHER, TYPED, useOwnedDevice } from './support/use-owned-device.js';

describe('a person in sends', () => {
  const { address, space, ownership } = useOwnedDevice();

  async function accept(recipients: string[], { kind = 'text' as SendKind } = {}) {
    const nowMs = Date.now();
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind, content: { kind: 'text', text: 'hello' }, parts: 1, recipients },
      reply: { kind: 'received', platformId: 'P', from: '44@s' },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000 },
    });
    return { messageId, tag: parseMessageId(messageId)!.tag };
  }
  const forget = (tag: string) => forgetRecipient(space.store, address, tag, TYPED);
  const claim = (tag: string, recipient: number) =>
    claimRecipient(space.store, ownership, { tag, recipient, part: 0, nowMs: Date.now() });
  const hear = (tag: string, recipient: number, event: 'acked' | 'delivered' | 'returned') =>
    recordResults(space.store, ownership, { tag, nowMs: Date.now(), events: [{ recipient, part: 0, event }] });
  const show = async (tag: string) =>
    (await readRecipients(space.store, address, tag, { from: 0, limit: 10 })).map(
      ({ to, status }) => `${to} ${status}`,
    );

  it('gets nothing of what is queued, and the others do', async () => {
    const { messageId, tag } = await accept([OTHER, KNOWN, '4915111']);
    expect(await forget(tag)).to.equal(1);
    expect(await show(tag)).to.deep.equal([`${OTHER} queued`, 'forgotten cancelled', '4915111 queued']);
    expect((await readSend(space.store, address, messageId))!.counts).to.include({ queued: 2, cancelled: 1 });
    expect((await readDeviceState(space.store, address)).waitingMessages).to.equal(2);
    expect(await readContent(space.store, address, tag), 'for the others').to.not.equal(undefined);
    expect(await claim(tag, 1), 'for a sender that still has the number').to.equal('settled');
    expect(await claim(tag, 0)).to.equal('claimed');
    expect(await forget(tag), 'again').to.equal(0);
  });

  it('has what was on its way, which is said, and never tried again', async () => {
    const { tag } = await accept([TYPED, OTHER]);
    await claim(tag, 0);
    await forget(tag);
    const [first] = await readRecipients(space.store, address, tag, { from: 0, limit: 1 });
    expect([first!.status, recipientErrorName(first!.errorCode)]).to.deep.equal(['failed', 'person_forgotten']);
    await hear(tag, 0, 'acked');
    expect(await show(tag)).to.deep.equal(['forgotten failed', `${OTHER} queued`]);
  });

  it('goes out of what is done, whose counts stay; with the last of them its content goes, too', async () => {
    const { messageId, tag } = await accept([TYPED]);
    await claim(tag, 0);
    await hear(tag, 0, 'delivered');
    const { record, content } = sendKeys(space.store.space, address, tag);
    const diesAt = await space.store.redis.pexpiretime(record);
    expect(await forget(tag)).to.equal(1);
    expect(await show(tag)).to.deep.equal(['forgotten delivered']);
    expect((await readSend(space.store, address, messageId))!.counts).to.include({ delivered: 1, cancelled: 0 });
    expect(await readContent(space.store, address, tag)).to.equal(undefined);
    expect(await space.store.redis.exists(content)).to.equal(0);
    expect(await space.store.redis.pexpiretime(record)).to.equal(diesAt);
  });

  it('takes the content along as the last of several who are forgotten', async () => {
    const { tag } = await accept([TYPED, OTHER]);
    await forget(tag);
    expect(await readContent(space.store, address, tag)).to.not.equal(undefined);
    expect(await forgetRecipient(space.store, address, tag, OTHER)).to.equal(1);
    expect(await readContent(space.store, address, tag)).to.equal(undefined);
  });

  it('also deletes content that phones have, when no other recipient is left', async () => {
    const { tag } = await accept([TYPED, OTHER]);
    for (const recipient of [0, 1]) await hear(tag, recipient, 'delivered');
    await forget(tag);
    expect(await readContent(space.store, address, tag)).to.not.equal(undefined);
    await forgetRecipient(space.store, address, tag, OTHER);
    expect(await readContent(space.store, address, tag)).to.equal(undefined);
  });

  it('ends a send without other recipients', async () => {
    const { messageId, tag } = await accept([KNOWN]);
    await forget(tag);
    expect((await readSend(space.store, address, messageId))!.state).to.equal('closed');
  });

  it('leaves a code that has gone out to the others to be erased, as it would be without them', async () => {
    const { tag } = await accept([TYPED, OTHER], { kind: 'otp' });
    const { content } = sendKeys(space.store.space, address, tag);
    const ttlMs = () => space.store.redis.pttl(content);
    await claim(tag, 1);
    await hear(tag, 1, 'acked');
    expect(await ttlMs()).to.be.above(10 * 60_000);
    await forget(tag);
    expect(await ttlMs()).to.be.within(10 * 60_000 - 5_000, 10 * 60_000);
  });

  it('is found in every send that is kept', async () => {
    const sends = await Promise.all([accept([KNOWN]), accept([OTHER])]);
    const found = new Set<string>();
    for await (const tag of findSends(space.store, address)) found.add(tag);
    expect([...found]).to.have.members(sends.map(({ tag }) => tag));
    expect(await forget(sends[1]!.tag)).to.equal(0);
  });
});
