import type { MediaType } from '@gateway/contracts/content/media-content';
import { MEDIA_TYPES } from '@gateway/contracts/content/media-content';
import type { ReadyContent } from '@gateway/contracts/content/message-content';
import { authorOfQuote } from '@gateway/messenger/addressing/author-of-quote';
import { toQuotingProto } from '@gateway/messenger/sending/quote';
import { expect } from 'chai';

const OWN = { id: '491700000001:7@s.whatsapp.net', lid: '88:7@lid' };
const keys = {
  get: async (_type: string, ids: string[]) =>
    Object.fromEntries(ids.flatMap((id) => (PAIRS[id] ? [[id, PAIRS[id]]] : []))),
} as never;
const PAIRS: Record<string, string> = { '49171': '123', '123_reverse': '49171' };
const authorOf = (content: ReadyContent, namespace: 'lid' | 'pn') =>
  authorOfQuote({ own: OWN, keys }, content, namespace);
const text = (value: string): ReadyContent => ({ kind: 'text', text: value });
const media = (type: MediaType): ReadyContent => ({
  kind: 'media',
  type,
  mimeType: 'application/octet-stream',
  blob: 'aa',
  blobHolder: 'h',
  sizeBytes: 3,
  upload: { url: 'https://x/y', directPath: '/y', mediaKey: 'AA', fileSha256: 'AA', fileEncSha256: 'AA', atMs: 1 },
});

describe('a quote', () => {
  it('names our own account, without its device, for messages of ours, in the namespace of the answer', async () => {
    const quoted = { platformId: '3EB0AA', content: text('before') };
    const answer: ReadyContent = { ...text('after'), quoted };
    expect(await authorOf(answer, 'lid')).to.equal('88@lid');
    const { extendedTextMessage } = toQuotingProto(answer, await authorOf(answer, 'pn'));
    expect(extendedTextMessage!.text).to.equal('after');
    expect(extendedTextMessage!.contextInfo).to.deep.include({
      stanzaId: '3EB0AA',
      participant: '491700000001@s.whatsapp.net',
    });
    const { quotedMessage } = extendedTextMessage!.contextInfo!;
    expect(quotedMessage!.extendedTextMessage!.text).to.equal('before');
    expect(quotedMessage!.messageContextInfo, 'a secret of its own').to.be.oneOf([undefined, null]);
  });

  it('names the writer of a message that we received, in the namespace of the answer', async () => {
    const answer = (from: string): ReadyContent => ({ ...text('an answer'), quoted: { platformId: 'X', from } });
    expect(await authorOf(answer('123@lid'), 'lid')).to.equal('123@lid');
    expect(await authorOf(answer('49171:3@s.whatsapp.net'), 'lid')).to.equal('123@lid');
    expect(await authorOf(answer('123@lid'), 'pn')).to.equal('49171@s.whatsapp.net');
    expect(await authorOf(answer('456@lid'), 'pn'), 'as it was, if nothing is known').to.equal('456@lid');
  });

  it('is possible without its content, and absent when there is none', () => {
    const { extendedTextMessage } = toQuotingProto({ ...text('x'), quoted: { platformId: 'X' } }, OWN.id);
    expect(extendedTextMessage!.contextInfo!.quotedMessage).to.deep.include({ conversation: '' });
    expect(toQuotingProto(text('x'), undefined).extendedTextMessage!.contextInfo).to.be.oneOf([undefined, null]);
  });

  for (const type of MEDIA_TYPES) {
    it(`stands above a file (${type}), and shows one`, () => {
      const message = toQuotingProto({ ...media(type), quoted: { platformId: 'X', content: media(type) } }, OWN.id);
      const shown = message[`${type}Message`]!;
      expect(shown.contextInfo!.stanzaId).to.equal('X');
      expect(shown.contextInfo!.quotedMessage![`${type}Message`]!.url).to.equal('https://x/y');
    });
  }
});
