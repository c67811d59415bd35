import { Agent } from 'node:https';
import { makeMp4, makePng, makeWav, makeWebp } from '@gateway/testkit/sample-files';
import { type AnyMessageContent, downloadMediaMessage, proto, type WAMessage } from '@whiskeysockets/baileys';
import { expect } from 'chai';
import { trustAnyCertificate } from './support/config.js';
import { useSimulator } from './support/simulator-fixture.js';
import type { Linked } from './support/stock-client.js';

/** What suites of client libraries do first: a client that writes to itself, by wss with a self-signed certificate. */
describe('a client that writes to itself', () => {
  trustAnyCertificate();
  const network = useSimulator({ tls: true });
  const agent = new Agent({ rejectUnauthorized: false });
  let one: Linked;
  let two: Linked;
  /** Counts the copies that the account's other client got. */
  const heard = new Map<string, WAMessage>();

  const send = async (jid: string, content: AnyMessageContent, options = {}) => {
    const sent = (await one.socket.sendMessage(jid, content, options))!;
    const copy = await new Promise<WAMessage>((resolve) => {
      const known = heard.get(sent.key.id!);
      if (known) return resolve(known);
      two.socket.ev.on('messages.upsert', ({ messages }) => {
        const found = messages.find(({ key }) => key.id === sent.key.id);
        if (found) resolve(found);
      });
    });
    expect(copy.key.fromMe).to.equal(true);
    return { sent, copy };
  };

  before(async () => {
    const config = { pushName: 'one and two', agent, fetchAgent: agent };
    one = await network.link(config);
    two = await network.link(config);
    two.socket.ev.on('messages.upsert', ({ messages }) => {
      for (const message of messages) heard.set(message.key.id!, message);
    });
  });

  it('is linked to one number with the other client of its name', () => {
    expect(two.number).to.equal(one.number);
    expect(one.state.creds.me?.id).to.not.equal(two.state.creds.me?.id);
  });

  it('reaches its other client with texts, edits, reactions, deletions and forwards', async () => {
    const { sent } = await send(one.jid, { text: 'note' });
    const edit = await send(one.jid, { text: 'better', edit: sent.key });
    expect(
      edit.copy.message?.editedMessage?.message?.protocolMessage ?? edit.copy.message?.protocolMessage,
    ).to.not.equal(null);
    const reaction = await send(one.jid, { react: { text: '👍', key: sent.key } });
    expect(reaction.copy.message?.reactionMessage).to.deep.include({ text: '👍' });
    await send(one.jid, { react: { text: '', key: sent.key } });
    const forwarded = await send(one.jid, { forward: sent });
    expect(forwarded.copy.message?.extendedTextMessage?.text).to.equal('note');
    const gone = await send(one.jid, { delete: sent.key });
    expect(gone.copy.message?.protocolMessage?.type).to.equal(proto.Message.ProtocolMessage.Type.REVOKE);
  });

  const files: [string, AnyMessageContent, Buffer][] = [
    ['picture', { image: makePng(8, 8), caption: 'look' }, makePng(8, 8)],
    ['film', { video: makeMp4(8, 8, 1), caption: 'look' }, makeMp4(8, 8, 1)],
    ['voice note', { audio: makeWav(1), ptt: true, mimetype: 'audio/mp4' }, makeWav(1)],
    ['document', { document: makeMp4(8, 8, 1), mimetype: 'application/pdf', fileName: 'a.pdf' }, makeMp4(8, 8, 1)],
    ['sticker', { sticker: makeWebp() }, makeWebp()],
  ];
  for (const [kind, content, file] of files) {
    it(`can fetch the ${kind} it sent, by its number and by its hidden identifier`, async () => {
      for (const jid of [one.jid, one.state.creds.me!.lid!]) {
        const { copy } = await send(jid, content);
        const bytes = await downloadMediaMessage(copy, 'buffer', {});
        expect(bytes.equals(file)).to.equal(true);
      }
    });
  }

  it('can send polls, contacts and answers', async () => {
    const poll = await send(one.jid, { poll: { name: 'when?', values: ['now', 'later'], selectableCount: 1 } });
    expect(poll.copy.message?.pollCreationMessageV3?.name).to.equal('when?');
    const vcard = 'BEGIN:VCARD\nVERSION:3.0\nFN:Some Body\nEND:VCARD';
    const contact = await send(one.jid, { contacts: { displayName: 'Some Body', contacts: [{ vcard }] } });
    expect(contact.copy.message?.contactMessage?.vcard).to.equal(vcard);
    const answer = await send(one.jid, { text: 'this one' }, { quoted: poll.sent });
    expect(answer.copy.message?.extendedTextMessage?.contextInfo?.stanzaId).to.equal(poll.sent.key.id);
  });
});
