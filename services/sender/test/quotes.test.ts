import type { MessageContent, Quoted, Reply } from '@gateway/contracts/content/message-content';
import { receivedIdsUnder } from '@gateway/contracts/content/received-id';
import { parseMessageId, type SendTag } from '@gateway/contracts/ids';
import { platformIds } from '@gateway/contracts/sends/platform-id';
import { loadQuotes } from '@gateway/sender/preparing/load-quotes';
import { messageOf, recipientOf } from '@gateway/sender/preparing/message-of';
import { keepUpload } from '@gateway/store/blobs/blobs';
import { ensureDevice } from '@gateway/store/devices/devices';
import { recordReceived } from '@gateway/store/inbound/received-messages';
import { acceptSend } from '@gateway/store/sends/accepting/accept-send';
import { takeDevice } from '@gateway/testkit/ownership';
import { openRedisSpace, type RedisSpace } from '@gateway/testkit/redis-space';
import { expect } from 'chai';

const address = { workspace: 'main', device: 'a' };
const [ADA, BEN, CLEO] = ['491517000001', '491517000002', '491517000003'] as const;
const HELLO = { kind: 'text', text: 'hello' } as const;
const IMAGE = {
  kind: 'media',
  type: 'image',
  mimeType: 'image/png',
  blob: 'b',
  blobHolder: 'h',
  sizeBytes: 1,
} as const;
const UPLOAD = { url: '', directPath: '/x', mediaKey: '', fileSha256: '', fileEncSha256: '', atMs: 0 };

describe('what a message quotes', () => {
  let space: RedisSpace;
  const ids = platformIds(Buffer.alloc(16, 7));
  const deps = () => ({ store: space.store, address, ids });
  beforeEach(async () => {
    space = await openRedisSpace();
    await ensureDevice(space.store, address);
  });
  afterEach(() => space.close());

  async function accept(content: MessageContent, reply?: Reply): Promise<SendTag> {
    const nowMs = Date.now();
    const { messageId } = await acceptSend(space.store, address, {
      ...{ kind: content.kind, content, parts: content.kind === 'media' ? 2 : 1, recipients: [ADA, BEN] },
      ...{ owner: 't', requestId: 'r', nowMs, expiresAtMs: nowMs + 60_000, ...(reply && { reply }) },
    });
    return parseMessageId(messageId)!.tag;
  }
  const idOf = (tag: SendTag, recipient: number, part = 0) => ids.make({ tag, recipient, part });
  const quotesOf = async (reply?: Reply): Promise<(Quoted | undefined)[]> => {
    const quoteFor = await loadQuotes(deps(), reply);
    return [ADA, BEN, CLEO].map(quoteFor);
  };

  it('is nothing, for a send that answers nothing', async () => {
    expect(await quotesOf()).to.deep.equal([undefined, undefined, undefined]);
  });

  it('is the message that each recipient got, and nothing for those who got none', async () => {
    const tag = await accept(HELLO);
    const quoted = (recipient: number) => ({ platformId: idOf(tag, recipient), content: HELLO });
    expect(await quotesOf({ kind: 'own', tag, part: 0 })).to.deep.equal([quoted(0), quoted(1), undefined]);
  });

  it('is one message of ours for all, where one was named', async () => {
    const tag = await accept(HELLO);
    const quoted = { platformId: idOf(tag, 1), content: HELLO };
    expect(await quotesOf({ kind: 'own', tag, recipient: 1, part: 0 })).to.deep.equal([quoted, quoted, quoted]);
  });

  it('is what a person wrote, and only its id once that is forgotten', async () => {
    const ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
    const message = { platformId: 'THEIRS', jid: `${ADA}@s.whatsapp.net`, text: 'how much?' };
    await recordReceived(space.store, ownership, { message, nowMs: Date.now() });
    const reply = (platformId: string): Reply => ({ kind: 'received', platformId, from: message.jid });
    const known = { platformId: 'THEIRS', from: message.jid, content: { kind: 'text', text: 'how much?' } };
    expect((await quotesOf(reply('THEIRS')))[0]).to.deep.equal(known);
    expect((await quotesOf(reply('OLDER')))[0]).to.deep.equal({ platformId: 'OLDER', from: message.jid });
  });

  it('is what the recipient wrote, also when another person took the same id first', async () => {
    const ownership = (await takeDevice(space.store, address, { owner: 'a', ttlMs: 60_000 }))!;
    for (const who of [ADA, BEN]) {
      const message = { platformId: 'THEIRS', jid: `${who}@s.whatsapp.net`, phone: who, text: `I am ${who}` };
      await recordReceived(space.store, ownership, { message, nowMs: Date.now() });
    }
    const [, platformId] = receivedIdsUnder('THEIRS');
    const from = `${BEN}@s.whatsapp.net`;
    const content = { kind: 'text', text: `I am ${BEN}` };
    expect((await quotesOf({ kind: 'received', platformId: platformId!, from }))[0]).to.deep.equal({
      platformId: 'THEIRS',
      ...{ from, content },
    });
  });

  describe('and a phone that asks for it again', () => {
    it('gets the text with its quote', async () => {
      const first = await accept(HELLO);
      const tag = await accept({ kind: 'text', text: 'and?' }, { kind: 'own', tag: first, part: 0 });
      const quoted = { platformId: idOf(first, 1), content: HELLO };
      expect(await messageOf(deps(), idOf(tag, 1))).to.deep.equal({ kind: 'text', text: 'and?', quoted });
      expect(await messageOf(deps(), idOf(first, 0))).to.deep.equal(HELLO);
    });

    it('gets a file from where it was uploaded to, and the text behind it without a quote', async () => {
      const first = await accept(HELLO);
      const tag = await accept({ ...IMAGE, followingText: 'so' }, { kind: 'own', tag: first, part: 0 });
      expect(await messageOf(deps(), idOf(tag, 0)), 'it is not there').to.equal(undefined);
      await keepUpload(space.store, address, { ...IMAGE, upload: UPLOAD, untilMs: Date.now() + 60_000 });
      expect(await messageOf(deps(), idOf(tag, 0))).to.deep.include({ kind: 'media', upload: UPLOAD });
      expect(await messageOf(deps(), idOf(tag, 0, 1))).to.deep.equal({ kind: 'text', text: 'so' });
    });

    it('gets nothing for an id of another client, and its recipient is unknown', async () => {
      const tag = await accept(HELLO);
      expect(await messageOf(deps(), 'not ours')).to.equal(undefined);
      expect(await recipientOf(deps(), 'not ours')).to.equal(undefined);
      expect(await recipientOf(deps(), idOf(tag, 1))).to.equal(BEN);
      expect(await recipientOf(deps(), idOf(tag, 2)), 'there is no third').to.equal(undefined);
    });
  });
});
