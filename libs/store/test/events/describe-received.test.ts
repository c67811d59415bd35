import type { InboundContent } from '@gateway/contracts/content/inbound-content';
import { makeMediaId } from '@gateway/contracts/content/media-id';
import { deviceKeys } from '@gateway/contracts/redis-keys';
import { createVault, UnknownKeyError } from '@gateway/store/core/vault';
import { describeReceived } from '@gateway/store/events/describe-received';
import { type ReceivedMessage, recordReceived } from '@gateway/store/inbound/received-messages';
import { expect } from 'chai';
import { useOwnedDevice } from '../support/use-owned-device.js';

const HOUR_MS = 3_600_000;
const JID = '491700000041@s.whatsapp.net';
const FILE = {
  ...{ directPath: '/d', mediaKey: 'key', sha256: 'hash', sealedSha256: 'sealed', mimeType: 'image/jpeg', bytes: 7 },
};

describe('what a person wrote, as events tell it', () => {
  const { space, ownership, address } = useOwnedDevice();
  const describe = (platformId: string, arrivedAtMs = Date.now()) =>
    describeReceived(space.store, address, { platformId, arrivedAtMs });
  const tell = async (message: Partial<ReceivedMessage>) => {
    const whole = { platformId: 'A1', jid: JID, text: '', ...message };
    await recordReceived(space.store, ownership, { message: whole, nowMs: Date.now() });
    return describe(whole.platformId, 5_000);
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
  });

  it('is only known to have been there once it is erased', async () => {
    expect(await describe('gone', 5_000)).to.deep.equal({
      ...{ platformMessageId: 'gone', from: null, name: null, at: '1970-01-01T00:00:05.000Z' },
      ...{ content: { type: 'text', text: null }, replyTo: null },
    });
  });

  it('waits an hour for a key that is not configured here, and is then told without what is in it', async () => {
    await tell({ text: 'hello' });
    const keys = [{ id: 'another', key: Buffer.alloc(32, 9) }];
    const store = { ...space.store, vault: createVault({ credentials: keys, contents: keys }) };
    const at = (arrivedAtMs: number) =>
      describeReceived(store, address, { platformId: 'A1', arrivedAtMs }).catch((thrown: unknown) => thrown);
    expect(await at(Date.now() - HOUR_MS + 60_000)).to.be.instanceOf(UnknownKeyError);
    expect(await at(Date.now() - HOUR_MS)).to.deep.include({ from: null, content: { type: 'text', text: null } });
    await space.store.redis.hset(deviceKeys(space.store.space, address).received, 'A1', 'broken');
    expect(await at(0), 'is no question of the key')
      .to.be.instanceOf(Error)
      .and.not.instanceOf(UnknownKeyError);
  });
});
