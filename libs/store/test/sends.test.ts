import { parseMessageId } from '@gateway/contracts/ids';
import { FencedError } from '@gateway/runtime/errors';
import { readDeviceState } from '@gateway/store/devices/device-state';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { cancelSend, claimRecipient, recordResults } from '@gateway/store/sends/change-send';
import { listOpenSends } from '@gateway/store/sends/open-sends';
import { readContent, readRecipientNumber, readRecipients, readSend } from '@gateway/store/sends/read-send';
import { giveDeviceBack, takeDevice } from '@gateway/testkit/ownership';
import { expireSends } from '@gateway/testkit/sends/expire-sends';
import { rewriteHead } from '@gateway/testkit/sends/rewrite-head';
import { expect } from 'chai';
import { useOwnedDevice } from './support/use-owned-device.js';

const recipients = ['4915112345670', '4915112345671', '4915112345672'];

describe('sends', () => {
  const { address, space, ownership } = useOwnedDevice();

  async function openedSend(options: { expiresAtMs?: number; parts?: number } = {}) {
    const { messageId, owner } = await acceptSend(space.store, address, {
      kind: 'text',
      content: { kind: 'text', text: 'hello' },
      parts: options.parts ?? 1,
      recipients,
      owner: 't',
      requestId: 'r',
      nowMs: Date.now(),
      expiresAtMs: options.expiresAtMs ?? Date.now() + 60_000,
    });
    return { messageId, owner, tag: parseMessageId(messageId)!.tag };
  }
  const claim = (tag: string, recipient: number, part = 0) =>
    claimRecipient(space.store, ownership, { tag, recipient, part, nowMs: Date.now() });
  const record = (tag: string, ...events: Parameters<typeof recordResults>[2]['events'][number][]) =>
    recordResults(space.store, ownership, { tag, nowMs: Date.now(), events });
  const counts = async (messageId: string) => (await readSend(space.store, address, messageId))!.counts;

  it('reads back what was accepted, and keeps the content sealed', async () => {
    const { messageId, tag } = await openedSend();
    const send = await readSend(space.store, address, messageId);
    expect(send).to.include({ state: 'open', total: 3, kind: 'text', requestId: 'r' });
    expect(await readContent(space.store, address, tag)).to.deep.equal({ content: { kind: 'text', text: 'hello' } });
    const page = await readRecipients(space.store, address, tag, { from: 1, limit: 5 });
    expect(page.map(({ index, to, status }) => ({ index, to, status }))).to.deep.equal([
      { index: 1, to: recipients[1], status: 'queued' },
      { index: 2, to: recipients[2], status: 'queued' },
    ]);
    expect((await readDeviceState(space.store, address)).waitingMessages).to.equal(3);
    for (const key of await space.clients.commands.keys(`${space.prefix}:*`)) {
      if ((await space.clients.commands.type(key)) !== 'hash') continue;
      expect((await space.clients.commands.hvals(key)).join()).not.to.include('hello');
    }
  });

  it('tells the number of one recipient, and of an id that only looks like that of a send nothing', async () => {
    const { messageId, tag } = await openedSend();
    const numberOf = (recipient: number) => readRecipientNumber(space.store, address, { tag, recipient });
    expect(await Promise.all([0, 1, 2, 3].map(numberOf))).to.deep.equal([...recipients, undefined]);
    const lookalike = messageId.slice(0, -1) + (messageId.endsWith('0') ? '1' : '0');
    expect(await readSend(space.store, address, lookalike)).to.equal(undefined);
    await rewriteHead(space.store, address, messageId, { version: 99 });
    const thrown = await readSend(space.store, address, messageId).catch((error: Error) => error.message);
    expect(thrown).to.match(/unknown version 99/);
  });

  it('writes a send down once when Redis is asked twice, as the first answer was lost', async () => {
    const { run } = space.store;
    const asked: string[] = [];
    const store: typeof space.store = {
      ...space.store,
      run: async (name, ...rest) => {
        asked.push(name);
        await run(name, ...rest);
        return run(name, ...rest);
      },
    };
    const before = (await readDeviceState(space.store, address)).waitingMessages;
    const open = await listOpenSends(space.store, address);
    const { messageId, owner } = await acceptSend(store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'once' }, parts: 1, recipients, owner: 't', requestId: 'r' },
      ...{ nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
    expect(asked).to.deep.equal(['accept-send']);
    expect(owner, 'the process that hears of it').to.equal((await openedSend()).owner);
    const opened = (await listOpenSends(space.store, address)).length - open.length;
    expect(opened, 'this one, and the one beside it').to.equal(2);
    expect(await counts(messageId)).to.include({ queued: recipients.length });
    const { waitingMessages } = await readDeviceState(space.store, address);
    expect(waitingMessages - before).to.equal(2 * recipients.length);
  });

  it('lets statuses only move forward, whatever the order of the news', async () => {
    const { messageId, tag } = await openedSend();
    const event = (name: 'acked' | 'delivered' | 'read' | 'failed') => ({
      recipient: 0,
      part: 0,
      event: name,
      errorCode: 463,
    });
    expect(await record(tag, event('read'))).to.deep.equal(['read']);
    expect(await record(tag, event('delivered'), event('acked'), event('failed'))).to.deep.equal([
      'read',
      'read',
      'read',
    ]);
    expect(await counts(messageId)).to.include({ queued: 2, sent: 0, delivered: 0, read: 1, failed: 0 });
  });

  it('turns a sent message into a failed one on a late refusal, with the code of the network', async () => {
    const { tag } = await openedSend();
    await record(tag, { recipient: 2, part: 0, event: 'acked' });
    const statuses = await record(tag, { recipient: 2, part: 0, event: 'failed', errorCode: 463 });
    expect(statuses).to.deep.equal(['failed']);
    const [row] = await readRecipients(space.store, address, tag, { from: 2, limit: 1 });
    expect(row).to.include({ status: 'failed', errorCode: 463 });
  });

  it('fails on a refusal for now that comes late only who counts as sent: the others are tried again', async () => {
    const { tag } = await openedSend();
    await record(tag, { recipient: 0, part: 0, event: 'acked' });
    await claim(tag, 1);
    const revoked = (recipient: number) => ({ recipient, part: 0, event: 'revoked' as const, errorCode: 503 });
    expect(await record(tag, revoked(0), revoked(1), revoked(2))).to.deep.equal(['failed', 'queued', 'queued']);
    const [first, second] = await readRecipients(space.store, address, tag, { from: 0, limit: 2 });
    expect([first!.errorCode, second!.errorCode, second!.partsInFlight]).to.deep.equal([503, 0, 1]);
  });

  it('shows who is held and who expired for it, and forgets it when the message goes out', async () => {
    const { messageId, tag } = await openedSend({ expiresAtMs: Date.now() + 60_000 });
    const held = (recipient: number) => ({ recipient, part: 0, event: 'held' as const, errorCode: 9 });
    await claim(tag, 1);
    const statuses = await record(tag, held(0), held(1), held(2));
    expect(statuses).to.deep.equal(['queued', 'queued', 'queued']);
    await claim(tag, 0);
    await record(tag, { recipient: 0, part: 0, event: 'acked' });
    expect(await cancelSend(space.store, address, messageId), 'one may have arrived').to.deep.equal({ cancelled: 1 });
    await expireSends(space.store, ownership, Date.now() + 60_001);
    const rows = await readRecipients(space.store, address, tag, { from: 0, limit: 3 });
    expect(rows.map(({ status, errorCode }) => [status, errorCode])).to.deep.equal([
      ['sent', 0],
      ['expired', 9],
      ['cancelled', 0],
    ]);
  });

  it('gives a recipient of two parts the status of the slower part', async () => {
    const { tag } = await openedSend({ parts: 2 });
    expect(await record(tag, { recipient: 0, part: 0, event: 'delivered' })).to.deep.equal(['queued']);
    expect(await record(tag, { recipient: 0, part: 1, event: 'acked' })).to.deep.equal(['sent']);
    expect(await record(tag, { recipient: 0, part: 1, event: 'delivered' })).to.deep.equal(['delivered']);
    expect((await readDeviceState(space.store, address)).waitingMessages).to.equal(4);
  });

  it('closes a send with its last queued recipient and gives its keys a time to live', async () => {
    const { messageId, tag } = await openedSend();
    const acked = (recipient: number) => ({ recipient, part: 0, event: 'acked' as const });
    await record(tag, acked(0), acked(1));
    expect(await listOpenSends(space.store, address)).to.deep.equal([messageId]);
    await record(tag, acked(2));
    expect(await listOpenSends(space.store, address)).to.deep.equal([]);
    expect((await readDeviceState(space.store, address)).waitingMessages).to.equal(0);
    const keys = await space.clients.commands.keys(`${space.prefix}:*:[sc]:*`);
    expect(keys).to.have.length(2);
    for (const key of keys) expect(await space.clients.commands.pttl(key)).to.be.greaterThan(6 * 86_400_000);
    expect((await readSend(space.store, address, messageId))!.state).to.equal('closed');
  });

  it('cancels what was not tried, and lets what is in flight end as the network says', async () => {
    const { messageId, tag } = await openedSend();
    expect(await claim(tag, 0)).to.equal('claimed');
    expect(await cancelSend(space.store, address, messageId)).to.deep.equal({ cancelled: 2 });
    expect(await claim(tag, 1)).to.equal('settled');
    expect(await claim(tag, 0), 'the same id again').to.equal('claimed');
    await record(tag, { recipient: 0, part: 0, event: 'acked' });
    expect((await readSend(space.store, address, messageId))!.state).to.equal('closed');
    expect(await counts(messageId)).to.include({ sent: 1, cancelled: 2, queued: 0 });
    expect(await cancelSend(space.store, address, messageId), 'safe to repeat').to.deep.equal({ cancelled: 0 });
  });

  it('cancels whom the network refused for now: no phone can show that message', async () => {
    const { messageId, tag } = await openedSend();
    for (const recipient of [0, 1]) await claim(tag, recipient);
    await record(tag, { recipient: 0, part: 0, event: 'returned' });
    expect(await cancelSend(space.store, address, messageId)).to.deep.equal({ cancelled: 2 });
    expect(await claim(tag, 0)).to.equal('settled');
    const statuses = await record(tag, { recipient: 1, part: 0, event: 'returned' });
    expect(statuses, 'in flight at the cancel, refused after it').to.deep.equal(['cancelled']);
    expect((await readSend(space.store, address, messageId))!.state).to.equal('closed');
    expect(await counts(messageId)).to.include({ cancelled: 3, queued: 0 });
    expect((await readDeviceState(space.store, address)).waitingMessages).to.equal(0);
  });

  it('never calls cancelled what a phone may show: after a try without an answer, refusals of later ones say nothing', async () => {
    const { messageId, tag } = await openedSend({ parts: 2 });
    await claim(tag, 0);
    await claim(tag, 0);
    await record(tag, { recipient: 0, part: 0, event: 'returned' });
    await claim(tag, 1);
    await record(tag, { recipient: 1, part: 0, event: 'acked' });
    await claim(tag, 1, 1);
    await record(tag, { recipient: 1, part: 1, event: 'returned' });
    expect(await cancelSend(space.store, address, messageId)).to.deep.equal({ cancelled: 1 });
    expect(await claim(tag, 0), 'its first try').to.equal('claimed');
    expect(await claim(tag, 1, 1), 'its first part').to.equal('claimed');
    const statuses = await record(tag, { recipient: 0, part: 0, event: 'returned' });
    expect(statuses).to.deep.equal(['queued']);
    const [row] = await readRecipients(space.store, address, tag, { from: 0, limit: 1 });
    expect(row).to.include({ partsInFlight: 0, partsInDoubt: 1 });
  });

  it('expires what is left when its time is over, and believes a receipt that comes after', async () => {
    const { messageId, tag } = await openedSend({ expiresAtMs: Date.now() - 1 });
    expect(await claim(tag, 0)).to.equal('expired');
    expect(await expireSends(space.store, ownership, Date.now())).to.deep.equal([messageId]);
    expect(await counts(messageId)).to.include({ expired: 3, queued: 0 });
    expect(await record(tag, { recipient: 1, part: 0, event: 'acked' })).to.deep.equal(['expired']);
    expect(await record(tag, { recipient: 1, part: 0, event: 'delivered' })).to.deep.equal(['delivered']);
    expect(await counts(messageId)).to.include({ expired: 2, delivered: 1 });
  });

  it('refuses every write of a stale owner', async () => {
    const { tag } = await openedSend();
    await giveDeviceBack(space.store, ownership);
    const next = await takeDevice(space.store, address, { owner: 'b', ttlMs: 60_000 });
    expect(next!.epoch).to.be.greaterThan(ownership.epoch);
    for (const attempt of [() => claim(tag, 0), () => record(tag, { recipient: 0, part: 0, event: 'acked' })]) {
      const error = await attempt().catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(FencedError);
    }
  });
});
