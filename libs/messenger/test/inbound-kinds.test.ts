import { createHash } from 'node:crypto';
import type { InboundMedia } from '@gateway/contracts/content/inbound-content';
import { openEdit } from '@gateway/messenger/inbound/open-edit';
import type { IncomingMessage } from '@gateway/messenger/session/session-events';
import { eventually } from '@gateway/testkit/eventually';
import { expect } from 'chai';
import { type Device, makeNumbers, type TestSession, useSessions } from './support/session-fixture.js';

describe('receiving each kind of message', () => {
  const sessions = useSessions();
  const [friend] = makeNumbers(1) as [string];
  let device: Device;
  let test: TestSession;

  before(async () => {
    device = await sessions.link();
    test = await sessions.open(device.keyStore);
    await test.next('open');
  });

  const heard = () => test.reports.flatMap((report) => (report.event === 'message' ? [report.value] : []));
  /** What the phone of the friend writes, as it comes here. */
  async function receive(draft: object): Promise<IncomingMessage> {
    const path = `phones/${friend}/messages`;
    const { id } = await sessions.admin<{ id: string }>('POST', path, { to: device.phone, ...draft });
    return eventually(() => heard().find(({ platformId }) => platformId === id));
  }
  const file = Buffer.from('the bytes of a file');
  const base64 = file.toString('base64');
  function expectFile(media: InboundMedia, expected: object): void {
    const sha256 = createHash('sha256').update(file).digest('base64');
    expect(media).to.include({ bytes: file.length, sha256, ...expected });
    expect(media.directPath).to.match(/^\/v\//);
    for (const each of [media.mediaKey, media.sealedSha256]) expect(Buffer.from(each, 'base64')).to.have.lengthOf(32);
  }

  it('a text, whole, and how its writer calls themselves', async () => {
    const text = 'ب'.repeat(65_536);
    await sessions.admin('PUT', `accounts/${friend}`, { pushName: 'Ann' });
    const message = await receive({ text });
    expect(message).to.deep.include({ name: 'Ann', content: { type: 'text' } });
    expect(message.text === text).to.equal(true);
    expect(message).not.to.have.property('replyTo');
  });

  it('a reply, with what it quotes', async () => {
    expect(await receive({ text: 'yes', replyTo: '3EB0AA' })).to.include({ text: 'yes', replyTo: '3EB0AA' });
    expect(await receive({ image: { base64 }, replyTo: '3EB0BB' })).to.include({ text: '', replyTo: '3EB0BB' });
  });

  it('an image and a video, with their captions', async () => {
    for (const [type, mimeType] of [
      ['image', 'image/jpeg'],
      ['video', 'video/mp4'],
    ] as const) {
      const { text, content } = await receive({
        text: 'Look',
        [type]: { base64, ...(type === 'video' && { seconds: 9 }) },
      });
      expect(text).to.equal('Look');
      if (content.type !== type) throw new Error(content.type);
      expectFile(content.media, { mimeType, ...(type === 'video' && { seconds: 9 }) });
      expect(Object.keys(content.media), 'no preview').not.to.include('jpegThumbnail');
    }
  });

  it('sound, recorded or not', async () => {
    const { content } = await receive({ audio: { base64, seconds: 7, voice: true } });
    if (content.type !== 'audio') throw new Error(content.type);
    expect(content.voice).to.equal(true);
    expectFile(content.media, { mimeType: 'audio/ogg; codecs=opus', seconds: 7 });
    expect((await receive({ audio: { base64 } })).content).not.to.have.property('voice');
  });

  it('a document and a sticker', async () => {
    const { text, content } = await receive({ text: 'the bill', document: { base64, filename: 'a.pdf' } });
    expect(text).to.equal('the bill');
    if (content.type !== 'document') throw new Error(content.type);
    expectFile(content.media, { mimeType: 'application/pdf', filename: 'a.pdf' });
    const sticker = await receive({ sticker: { base64 } });
    if (sticker.content.type !== 'sticker') throw new Error(sticker.content.type);
    expectFile(sticker.content.media, { mimeType: 'image/webp' });
  });

  it('a location', async () => {
    const location = { latitude: 51.5, longitude: -0.12, name: 'the shop' };
    expect((await receive({ location })).content).to.deep.equal({ type: 'location', ...location });
  });

  it('one contact and several', async () => {
    const [ann, ben] = [
      { name: 'Ann', phone: '447700900001' },
      { name: 'Ben', phone: '447700900002' },
    ];
    const shown = ({ name, phone }: typeof ann) => ({ name, phones: [phone] });
    expect((await receive({ contacts: [ann] })).content).to.deep.equal({ type: 'contact', contacts: [shown(ann)] });
    const contacts = [shown(ann), shown(ben)];
    expect((await receive({ contacts: [ann, ben] })).content).to.deep.equal({ type: 'contact', contacts });
  });

  it('a reaction, and that it was taken back', async () => {
    const to = { platformId: '3EB0AA' };
    const { content } = await receive({ reaction: { id: '3EB0AA', emoji: '👍' } });
    expect(content).to.deep.equal({ type: 'reaction', emoji: '👍', to });
    const { content: back } = await receive({ reaction: { id: '3EB0AA', emoji: '' } });
    expect(back).to.deep.equal({ type: 'reaction', emoji: null, to });
  });

  it('a vote in a poll', async () => {
    const { content } = await receive({ pollVote: { id: '3EB0AA', options: ['yes'] } });
    expect(content).to.deep.equal({ type: 'pollVote', to: { platformId: '3EB0AA' } });
  });

  it('a message that was edited, and deleted', async () => {
    const { platformId: id } = await receive({ text: 'at nine' });
    const edited = await receive({ edit: { id, plain: true }, text: 'at ten' });
    expect(edited).to.deep.include({ text: 'at ten', content: { type: 'edited', to: { platformId: id } } });
    const deleted = await receive({ delete: { id } });
    expect(deleted).to.deep.include({ text: '', content: { type: 'deleted', to: { platformId: id } } });
  });

  for (const addressing of ['pn', 'lid'])
    it(`a message that was edited, sealed with the secret which came with it (${addressing})`, async () => {
      const { platformId, secret, jid } = await receive({ text: 'at nine', addressing });
      const { text, content, sealedEdit } = await receive({ edit: { id: platformId }, text: 'at ten', addressing });
      const to = { platformId };
      expect([text, content]).to.deep.equal(['', { type: 'edited', to, isSealed: true }]);
      const original = { platformId, secret: secret!, writers: ['1@lid', jid] };
      expect(openEdit(sealedEdit!, original)).to.equal('at ten');
      const others = [{ writers: ['1@lid'] }, { platformId: '3A' }, { secret: Buffer.alloc(32).toString('base64') }];
      for (const other of others) expect(openEdit(sealedEdit!, { ...original, ...other })).to.equal(undefined);
      for (const payload of ['', 'AAAA', sealedEdit!.payload.slice(4)])
        expect(openEdit({ ...sealedEdit!, payload }, original)).to.equal(undefined);
    });

  it('one that is of no known kind', async () => {
    expect(await receive({ unsupported: true })).to.deep.include({ text: '', content: { type: 'unsupported' } });
  });
});
