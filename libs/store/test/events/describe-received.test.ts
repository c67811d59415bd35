import type { InboundContent } from '@gateway/contracts/content/inbound-content';
import { makeMediaId } from '@gateway/contracts/content/media-id';
import { parseMessageId } from '@gateway/contracts/ids';
import { deviceKeys, sendKeys } from '@gateway/contracts/redis-keys';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { createVault, UnknownKeyError } from '@gateway/store/core/vault';
import { readIdKey } from '@gateway/store/devices/devices';
import { describeReceived } from '@gateway/store/events/describe-received';
import { forgetReceivedFrom, type ReceivedMessage, recordReceived } from '@gateway/store/inbound/received-messages';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { expect } from 'chai';
import { useOwnedDevice } from '../support/use-owned-device.js';

const HOUR_MS = 3_600_000;
const JID = '491700000041@s.whatsapp.net';
const PEOPLE = ['491700000041', '491700000042'];
const FILE = {
  ...{ directPath: '/d', mediaKey: 'key', sha256: 'hash', sealedSha256: 'sealed', mimeType: 'image/jpeg', bytes: 7 },
};

describe('what a person wrote, as events tell it', () => {
  const { space, ownership, address } = useOwnedDevice();
  const describe = async (receivedId: string, arrivedAtMs = Date.now()) =>
    (await describeReceived(space.store, address, { receivedId, arrivedAtMs })).data;
  const tell = async (message: Partial<ReceivedMessage>) => {
    const whole = { platformId: 'A1', jid: JID, text: '', ...message };
    await recordReceived(space.store, ownership, { message: whole, nowMs: Date.now() });
    return describe(whole.platformId, 5_000);
  };
  /** To two people, in two parts. */
  const sendOurs = async () => {
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: 'text', content: { kind: 'text', text: 'hello' }, parts: 2, recipients: PEOPLE, owner: 't' },
      ...{ requestId: 'order-1', nowMs: Date.now(), expiresAtMs: Date.now() + 60_000 },
    });
    const ids = platformIds((await readIdKey(space.store, address))!);
    const { tag } = parseMessageId(messageId)!;
    return { messageId, ids, platformIds: ids.makeAll({ tag, parts: 2 }, [0, 1]) };
  };
  let told = 0;
  const contentOf = async (content: InboundContent, text = '') =>
    (await tell({ platformId: `C${++told}`, content, text })).content;

  it('names its writer, its time and what it quotes', async () => {
    const who = { phone: '491700000041', name: 'Ada', atMs: 1_000 };
    expect(await tell({ ...who, text: 'hello', replyTo: 'B2', content: { type: 'text' } })).to.deep.equal({
      ...{ platformMessageId: 'A1', from: '491700000041', name: 'Ada', at: '1970-01-01T00:00:01.000Z' },
      ...{ content: { type: 'text', text: 'hello' }, replyTo: { platformMessageId: 'B2' } },
    });
  });

  it('names the send that a quoted message of ours is of, whichever of its parts it is', async () => {
    const { messageId, platformIds } = await sendOurs();
    for (const platformId of platformIds) {
      const reply = await tell({ platformId: `R${platformId}`, text: 'yes', replyTo: platformId });
      expect(reply.replyTo).to.deep.equal({ platformMessageId: platformId, messageId });
    }
    const { record } = sendKeys(space.store.space, address, parseMessageId(messageId)!.tag);
    await space.store.redis.del(record);
    const [platformId] = platformIds as [string];
    const again = await describe(`R${platformId}`);
    expect(again.replyTo, 'what is told again is the same').to.deep.equal({ platformMessageId: platformId, messageId });
    const later = await tell({ platformId: 'later', text: 'yes', replyTo: platformId });
    expect(later.replyTo).to.deep.equal({ platformMessageId: platformId });
  });

  it('names that send also where it is about one: a reaction, a vote, an edit, a deletion', async () => {
    const { messageId, platformIds } = await sendOurs();
    const to = { platformId: platformIds[1]! };
    const about = { to: { platformMessageId: to.platformId, messageId } };
    expect(await contentOf({ type: 'reaction', emoji: '👍', to })).to.deep.equal({
      ...{ type: 'reaction', emoji: '👍', ...about },
    });
    for (const type of ['pollVote', 'deleted'] as const)
      expect(await contentOf({ type, to })).to.deep.equal({ type, ...about });
    expect(await contentOf({ type: 'edited', to }, 'new')).to.deep.equal({ type: 'edited', text: 'new', ...about });
  });

  it('names no send for an id that is of none, of no recipient or part, or of another device', async () => {
    const { messageId, ids } = await sendOurs();
    const { tag } = parseMessageId(messageId)!;
    const key = (await readIdKey(space.store, address))!;
    const strangers = [
      ...[ids.make({ tag: '0123456789abc', recipient: 0, part: 0 }), ids.make({ tag, recipient: 2, part: 0 })],
      ids.make({ tag, recipient: 0, part: 2 }),
      platformIds(Buffer.from(key).reverse()).make({ tag, recipient: 0, part: 0 }),
    ];
    for (const [n, platformId] of strangers.entries()) {
      const reply = await tell({ platformId: `S${n}`, text: 'yes', replyTo: platformId });
      expect(reply.replyTo).to.deep.equal({ platformMessageId: platformId });
    }
  });

  it('is kept without the send where the key of our ids cannot be opened', async () => {
    const {
      platformIds: [replyTo],
    } = await sendOurs();
    await space.store.redis.hset(deviceKeys(space.store.space, address).device, 'idKey', 'broken');
    expect((await tell({ text: 'yes', replyTo: replyTo! })).replyTo).to.deep.equal({ platformMessageId: replyTo });
  });

  it('names the writer as the network does where it tells no number, and its arrival where there is no time', async () => {
    expect(await tell({ text: 'hello' })).to.deep.equal({
      ...{ platformMessageId: 'A1', from: JID, name: null, at: '1970-01-01T00:00:05.000Z' },
      ...{ content: { type: 'text', text: 'hello' }, replyTo: null },
    });
  });

  it('has an empty text only where it is a text', async () => {
    expect(await contentOf({ type: 'text' })).to.deep.equal({ type: 'text', text: '' });
    expect(await contentOf({ type: 'unsupported' })).to.deep.equal({ type: 'unsupported' });
  });

  it('leads to its file, whose keys it keeps to itself', async () => {
    const id = makeMediaId(address, 'A1');
    const shown = { id, mimeType: 'image/jpeg', bytes: 7, sha256: 'hash', url: `/api/messenger/v1/media/${id}` };
    const { content } = await tell({ content: { type: 'image', media: FILE } });
    expect(content).to.deep.equal({ type: 'image', media: shown });
  });

  it('has the caption of a file, its name and its length', async () => {
    const media = { ...FILE, seconds: 0, filename: '' };
    const found = (await contentOf({ type: 'audio', media, voice: true }, 'listen')) as { media: object };
    expect(found).to.include({ type: 'audio', text: 'listen', voice: true });
    expect(found.media).to.include({ seconds: 0, filename: '' });
  });

  it('says which message it is about, and has a text of its own only where it was edited', async () => {
    const to = { platformId: 'B2' };
    const about = { to: { platformMessageId: 'B2' } };
    expect(await contentOf({ type: 'reaction', emoji: null, to }, 'x')).to.deep.equal({
      ...{ type: 'reaction', emoji: null, ...about },
    });
    expect(await contentOf({ type: 'edited', to }, 'new')).to.deep.equal({ type: 'edited', text: 'new', ...about });
    expect(await contentOf({ type: 'edited', to })).to.deep.equal({ type: 'edited', text: '', ...about });
    expect(await contentOf({ type: 'edited', to, isSealed: true })).to.deep.equal({
      type: 'edited',
      text: null,
      ...about,
    });
  });

  it('is only known to have been there once it is erased', async () => {
    expect(await describe('gone', 5_000)).to.deep.equal({
      ...{ platformMessageId: 'gone', from: null, name: null, at: '1970-01-01T00:00:05.000Z' },
      ...{ content: { type: 'text', text: null }, replyTo: null },
    });
  });

  it('says so where it had to go for room before its time: not where that is over, or a person was forgotten', async () => {
    const nowMs = Date.now();
    const keep = async (platformId: string, arrivedAtMs: number, mostBytes?: number) => {
      const message = { platformId, jid: platformId, text: 'hello' };
      const room = mostBytes === undefined ? {} : { mostBytes };
      await recordReceived(space.store, ownership, { message, nowMs: arrivedAtMs, ...room });
    };
    const isLost = async (receivedId: string, arrivedAtMs: number) => {
      const { lostContent = false, data } = await describeReceived(space.store, address, { receivedId, arrivedAtMs });
      return [lostContent, (data.content as { text: string | null }).text];
    };
    await keep('old', nowMs - 7 * 24 * HOUR_MS);
    await keep('former', nowMs - 3 * HOUR_MS);
    await keep('latter', nowMs - 2 * HOUR_MS);
    await forgetReceivedFrom(space.store, address, ({ jid }) => jid === 'latter');
    expect(await isLost('former', nowMs - 3 * HOUR_MS)).to.deep.equal([false, 'hello']);
    expect(await isLost('latter', nowMs - 2 * HOUR_MS)).to.deep.equal([false, null]);
    await keep('older', nowMs - HOUR_MS, 0);
    await keep('newest', nowMs);
    await forgetReceivedFrom(space.store, address, ({ jid }) => jid === 'older');
    expect(await isLost('old', nowMs - 7 * 24 * HOUR_MS), 'its time is over').to.deep.equal([false, null]);
    expect(await isLost('former', nowMs - 3 * HOUR_MS)).to.deep.equal([true, null]);
    expect(await isLost('older', nowMs - HOUR_MS), 'came after all that had to go').to.deep.equal([false, null]);
    expect(await isLost('newest', nowMs)).to.deep.equal([false, 'hello']);
    const { receivedLost } = deviceKeys(space.store.space, address);
    expect(await space.store.redis.pttl(receivedLost)).to.be.within(1, 7 * 24 * HOUR_MS);
  });

  it('waits an hour for a key that is not configured here, and is then told without what is in it', async () => {
    await tell({ text: 'hello' });
    const keys = [{ id: 'another', key: Buffer.alloc(32, 9) }];
    const store = { ...space.store, vault: createVault({ credentials: keys, contents: keys }) };
    const at = (arrivedAtMs: number) =>
      describeReceived(store, address, { receivedId: 'A1', arrivedAtMs }).catch((thrown: unknown) => thrown);
    expect(await at(Date.now() - HOUR_MS + 60_000)).to.be.instanceOf(UnknownKeyError);
    expect(await at(Date.now() - HOUR_MS))
      .to.have.property('data')
      .that.deep.includes({ from: null, content: { type: 'text', text: null } });
    await space.store.redis.hset(deviceKeys(space.store.space, address).received, 'A1', 'broken');
    expect(await at(0), 'is no question of the key')
      .to.be.instanceOf(Error)
      .and.not.instanceOf(UnknownKeyError);
  });
});
