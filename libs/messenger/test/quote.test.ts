import type { MediaType, ReadyContent } from '@gateway/contracts/message-content';
import { MEDIA_TYPES } from '@gateway/contracts/message-content';
import { toQuotingProto } from '@gateway/messenger/quote';
import { expect } from 'chai';

const OWN = '491700000001:7@s.whatsapp.net';
const text = (value: string): ReadyContent => ({ kind: 'text', text: value });
const media = (type: MediaType): ReadyContent => ({
  kind: 'media',
  type,
  mimeType: 'application/octet-stream',
  blob: 'aa',
  sizeBytes: 3,
  upload: { url: 'https://x/y', directPath: '/y', mediaKey: 'AA', fileSha256: 'AA', fileEncSha256: 'AA', atMs: 1 },
});

describe('a quote', () => {
  it('names our own account, without its device, for messages of ours', () => {
    const quoted = { platformId: '3EB0AA', content: text('before') };
    const { extendedTextMessage } = toQuotingProto({ ...text('after'), quoted }, OWN);
    expect(extendedTextMessage!.text).to.equal('after');
    expect(extendedTextMessage!.contextInfo).to.deep.include({
      stanzaId: '3EB0AA',
      participant: '491700000001@s.whatsapp.net',
    });
    const { quotedMessage } = extendedTextMessage!.contextInfo!;
    expect(quotedMessage!.extendedTextMessage!.text).to.equal('before');
    expect(quotedMessage!.messageContextInfo, 'a secret of its own').to.be.oneOf([undefined, null]);
  });

  it('names the writer of a message that we received', () => {
    const quoted = { platformId: 'X', from: '123@lid', content: text('a question') };
    const { extendedTextMessage } = toQuotingProto({ ...text('an answer'), quoted }, OWN);
    expect(extendedTextMessage!.contextInfo!.participant).to.equal('123@lid');
  });

  it('is possible without its content, and absent when there is none', () => {
    const { extendedTextMessage } = toQuotingProto({ ...text('x'), quoted: { platformId: 'X' } }, OWN);
    expect(extendedTextMessage!.contextInfo!.quotedMessage).to.deep.include({ conversation: '' });
    expect(toQuotingProto(text('x'), OWN).extendedTextMessage!.contextInfo).to.be.oneOf([undefined, null]);
  });

  for (const type of MEDIA_TYPES) {
    it(`stands above a file (${type}), and shows one`, () => {
      const message = toQuotingProto({ ...media(type), quoted: { platformId: 'X', content: media(type) } }, OWN);
      const shown = message[`${type}Message`]!;
      expect(shown.contextInfo!.stanzaId).to.equal('X');
      expect(shown.contextInfo!.quotedMessage![`${type}Message`]!.url).to.equal('https://x/y');
    });
  }
});
