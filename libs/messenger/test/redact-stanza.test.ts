import { makePseudonyms, redactStanza, spellStanza } from '@gateway/messenger/tracing/redact-stanza';
import { binaryNodeToString } from '@whiskeysockets/baileys';
import { expect } from 'chai';

const NUMBER = '4917012345678';
const LID = '123456789012345';

describe('a stanza in a trace', () => {
  it('says what kind it is, and who is the same person, but not who', () => {
    const stanza = {
      tag: 'message',
      attrs: {
        to: `${LID}@lid`,
        id: '3EB0A1B2C3D4E5F6A7B8',
        type: 'text',
        peer_recipient_pn: `${NUMBER}@s.whatsapp.net`,
      },
      content: [
        {
          tag: 'to',
          attrs: { jid: `${LID}:12@lid` },
          content: [{ tag: 'enc', attrs: { v: '2', type: 'pkmsg' }, content: Buffer.from('sealed') }],
        },
        { tag: 'tctoken', attrs: {}, content: Buffer.from('a token') },
      ],
    };
    const text = redactStanza(String(binaryNodeToString(stanza)), makePseudonyms());
    const [head, ...rest] = text.split('\n');
    const person =
      /^<message to=([0-9a-f]{6})@lid id=#[0-9a-f]{6} type=text peer_recipient_pn=[0-9a-f]{6}@s.whatsapp.net>$/.exec(
        head!,
      )?.[1];
    expect(person, head).to.be.a('string');
    expect(rest.map((line) => line.trim())).to.deep.equal([
      `<to jid=${person}:12@lid>`,
      '<enc v=2 type=pkmsg>',
      '(content)',
      '<tctoken>',
      '(content)',
    ]);
  });

  it('keeps refusals readable', () => {
    const ack = {
      tag: 'ack',
      attrs: { class: 'message', error: '463', from: `${NUMBER}@s.whatsapp.net`, t: '1790000000' },
    };
    expect(redactStanza(String(binaryNodeToString(ack)), makePseudonyms())).to.match(
      /^<ack class=message error=463 from=[0-9a-f]{6}@s.whatsapp.net t=1790000000>$/,
    );
  });

  it('removes everything about people, in every place', () => {
    const secrets = [NUMBER, LID, 'Ada Lovelace', 'see you at noon', 'c2VjcmV0IGtleSBtYXRlcmlhbA==', 'K7QX-2M9P'];
    for (const secret of secrets) {
      const places = [
        { tag: 'message', attrs: { notify: secret, text: `${secret} ${secret}`, type: `${secret} x`, name: secret } },
        { tag: 'body', attrs: {}, content: secret },
        { tag: 'body', attrs: {}, content: `\n<${secret}>\n</x>\n  ${secret}` },
        { tag: 'body', attrs: {}, content: Buffer.from(secret) },
        { tag: 'user', attrs: { jid: `${secret}@s.whatsapp.net`, id: secret, token: secret, count: NUMBER } },
      ];
      for (const node of places) {
        const text = redactStanza(String(binaryNodeToString(node)), makePseudonyms());
        const hex = Buffer.from(secret).toString('hex');
        for (const trace of [secret, hex, NUMBER]) expect(text.includes(trace), text).to.equal(false);
      }
    }
  });

  it('has only its own tags and lines, whatever the name of a person', () => {
    const name = "x'>\n<failure reason='401'";
    const node = {
      tag: 'message',
      attrs: { notify: name, type: 'text' },
      content: [{ tag: 'body', attrs: {}, content: name }],
    };
    const lines = redactStanza(spellStanza(node), makePseudonyms()).split('\n');
    expect(lines.map((line) => line.trim())).to.deep.equal(['<message notify=* type=text>', '<body>', '(content)']);
  });

  it('is bounded', () => {
    const users = Array.from({ length: 5_000 }, (_, i) => ({ tag: 'user', attrs: { jid: `${i}@lid` } }));
    const text = redactStanza(String(binaryNodeToString({ tag: 'list', attrs: {}, content: users })), makePseudonyms());
    expect(text.split('\n')).to.have.lengthOf.below(70);
    expect(text.endsWith('...')).to.equal(true);
  });
});
