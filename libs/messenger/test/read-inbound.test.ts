import { readInbound, readTime } from '@gateway/messenger/inbound/read-inbound';
import { proto } from '@whiskeysockets/baileys';
import { expect } from 'chai';

/** As it comes off the wire. */
const read = (message: proto.IMessage) => readInbound(proto.Message.decode(proto.Message.encode(message).finish()));
const KEY = Buffer.alloc(32, 7);
const FILE = { directPath: '/v/x.enc?oh=1', mediaKey: KEY, fileSha256: KEY, fileEncSha256: KEY, mimetype: 'image/png' };

describe('what a phone may send', () => {
  it('is nothing where no person wrote it', () => {
    const { EPHEMERAL_SETTING } = proto.Message.ProtocolMessage.Type;
    for (const message of [
      {},
      { protocolMessage: { type: EPHEMERAL_SETTING, ephemeralExpiration: 86_400 } },
      { senderKeyDistributionMessage: { groupId: 'x' } },
      { messageContextInfo: { messageSecret: KEY } },
      { albumMessage: { expectedImageCount: 3 }, messageContextInfo: { messageSecret: KEY } },
      { protocolMessage: { type: proto.Message.ProtocolMessage.Type.REVOKE, key: {} } },
    ]) {
      expect(read(message), JSON.stringify(message)).to.equal(undefined);
    }
  });

  it('has its text cut at what the network allows, never in half a character', () => {
    expect(read({ conversation: 'x'.repeat(70_000) })?.text).to.have.lengthOf(65_536);
    expect(read({ conversation: `${'x'.repeat(65_535)}👍` })?.text).to.equal('x'.repeat(65_535));
    expect(read({ imageMessage: { ...FILE, caption: 'y'.repeat(70_000) } })?.text).to.have.lengthOf(65_536);
  });

  it('has the new words of an edit, also those of a caption in a document', () => {
    const edit = (editedMessage: proto.IMessage) =>
      read({
        protocolMessage: { type: proto.Message.ProtocolMessage.Type.MESSAGE_EDIT, key: { id: '3A' }, editedMessage },
      });
    const document = { documentMessage: { caption: 'at ten' } };
    for (const edited of [{ conversation: 'at ten' }, document, { documentWithCaptionMessage: { message: document } }])
      expect(edit(edited)).to.deep.equal({ text: 'at ten', content: { type: 'edited', to: { platformId: '3A' } } });
  });

  it('has none of the words of an edit that is sealed, and says which message that changes', () => {
    const { MESSAGE_EDIT, EVENT_EDIT } = proto.Message.SecretEncryptedMessage.SecretEncType;
    const sealed = { targetMessageKey: { id: '3A' }, encPayload: KEY, encIv: KEY.subarray(0, 12) };
    const edit = (secretEncType: proto.Message.SecretEncryptedMessage.SecretEncType, more: object = {}) => {
      const secretEncryptedMessage = { ...sealed, secretEncType, ...more };
      return read({ secretEncryptedMessage, messageContextInfo: { messageSecret: KEY } });
    };
    const content = { type: 'edited', to: { platformId: '3A' }, isSealed: true };
    const sealedEdit = { payload: KEY.toString('base64'), iv: sealed.encIv.toString('base64') };
    expect(edit(MESSAGE_EDIT)).to.deep.equal({ text: '', content, sealedEdit });
    for (const odd of [{ encPayload: null }, { encPayload: Buffer.alloc(300_000) }, { encIv: KEY }, { encIv: null }])
      expect(edit(MESSAGE_EDIT, odd)).to.deep.equal({ text: '', content });
    expect(edit(EVENT_EDIT)?.content).to.deep.equal({ type: 'unsupported' });
  });

  it('is what is in wrappings that the library does not know', () => {
    const sticker = { stickerMessage: { ...FILE, mimetype: 'application/was' } };
    expect(read({ lottieStickerMessage: { message: sticker } })?.content).to.include({ type: 'sticker' });
    for (const wrapping of ['botInvokeMessage', 'botForwardedMessage'])
      expect(read({ [wrapping]: { message: { conversation: 'at ten' } } })).to.deep.equal({
        text: 'at ten',
        content: { type: 'text' },
      });
    expect(read({ lottieStickerMessage: {} })?.content).to.deep.equal({ type: 'unsupported' });
  });

  it('is a file only with all that it takes to fetch it', () => {
    expect(read({ imageMessage: { ...FILE, fileLength: 5 } })?.content).to.deep.equal({
      type: 'image',
      media: {
        directPath: '/v/x.enc?oh=1',
        ...{ mediaKey: KEY.toString('base64'), sha256: KEY.toString('base64'), sealedSha256: KEY.toString('base64') },
        ...{ mimeType: 'image/png', bytes: 5 },
      },
    });
    for (const broken of [
      { mediaKey: null },
      { mediaKey: Buffer.alloc(31) },
      { fileSha256: Buffer.alloc(33) },
      { directPath: null },
      { directPath: '@evil.example/x' },
      { directPath: '/a\r\nHost: b' },
      { directPath: `/${'x'.repeat(1_001)}` },
    ]) {
      expect(read({ imageMessage: { ...FILE, ...broken } })?.content).to.deep.equal({ type: 'unsupported' });
    }
  });

  it('has no header, endless name or impossible number in what it says of a file', () => {
    const odd = { mimetype: 'text/html\r\nSet-Cookie: a=b', fileName: 'n'.repeat(5_000), fileLength: 2 ** 52 };
    const content = read({ documentMessage: { ...FILE, ...odd, jpegThumbnail: Buffer.alloc(9_000) } })?.content;
    if (content?.type !== 'document') throw new Error('no document');
    expect(content.media).to.include({ mimeType: 'application/octet-stream', bytes: 0 });
    expect(content.media.filename).to.have.lengthOf(255);
    expect(JSON.stringify(content).length).to.be.below(1_000);
  });

  it('has a bounded number of contacts, each with a bounded name and few numbers', () => {
    const vcard = `BEGIN:VCARD\nFN:x\n${'TEL:+447700900123\nTEL;waid=447700900124:+1\n'.repeat(500)}`;
    const numbers = Array.from({ length: 50 }, (_, i) => `TEL:+4477009001${i + 10}`).join('\n');
    const contacts = Array.from({ length: 200 }, (_, i) => ({
      displayName: 'n'.repeat(9_000),
      vcard: i === 1 ? numbers : vcard,
    }));
    const content = read({ contactsArrayMessage: { contacts } })?.content;
    if (content?.type !== 'contact') throw new Error('no contacts');
    expect(content.contacts).to.have.lengthOf(100);
    expect(content.contacts[0]).to.deep.equal({ name: 'n'.repeat(100), phones: ['447700900123', '447700900124'] });
    expect(content.contacts[1]!.phones).to.have.lengthOf(10);
  });

  it('is at a place only where there is one', () => {
    for (const place of [
      {},
      { degreesLatitude: 91, degreesLongitude: 0 },
      { degreesLatitude: NaN, degreesLongitude: 0 },
    ]) {
      expect(read({ locationMessage: place })?.content).to.deep.equal({ type: 'unsupported' });
    }
  });

  it('has no half of a character in what it says, which no UTF-8 can hold', () => {
    // As the decoder has it, of three bytes that are no UTF-8.
    const plain = Uint8Array.of(0x0a, 5, 0x61, 0xed, 0xa0, 0x80, 0x62);
    expect(readInbound(proto.Message.decode(plain))?.text).to.equal('a\ufffdb');
    const [half, key] = ['\ud800x', { id: 'A' }];
    expect(readInbound({ reactionMessage: { key, text: half } })?.content).to.include({ emoji: '\ufffdx' });
    const place = { degreesLatitude: 1, degreesLongitude: 1, name: half };
    expect(readInbound({ locationMessage: place })?.content).to.include({ name: '\ufffdx' });
    for (const id of [half, 'A\0b']) {
      const reaction = { key: { id }, text: 'x' };
      expect(readInbound({ reactionMessage: reaction })?.content).to.deep.equal({ type: 'unsupported' });
    }
  });

  it('is of a time that there is', () => {
    expect(readTime('1795400000')).to.equal(1_795_400_000_000);
    for (const none of [undefined, '', '0', '-1', 'x', 'Infinity', '1e20', '99999999999999'])
      expect(readTime(none), none).to.equal(undefined);
  });

  it('refers to no endless id', () => {
    for (const id of ['A'.repeat(101), '€'.repeat(34)]) {
      const quote = { extendedTextMessage: { text: 'x', contextInfo: { stanzaId: id } } };
      expect(read({ reactionMessage: { key: { id }, text: 'x' } })?.content).to.deep.equal({ type: 'unsupported' });
      expect(read(quote)).not.to.have.property('replyTo');
    }
    const content = read({ reactionMessage: { key: { id: 'A' }, text: '👍'.repeat(500) } })?.content;
    if (content?.type !== 'reaction') throw new Error('no reaction');
    expect(content.emoji).to.have.lengthOf(64);
  });
});
