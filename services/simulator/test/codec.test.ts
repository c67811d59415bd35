import { decodeNode } from '@gateway/simulator/wire/decode-node';
import { encodeNode } from '@gateway/simulator/wire/encode-node';
import { type BinaryNode, decodeBinaryNode, encodeBinaryNode } from '@whiskeysockets/baileys';
import * as dictionary from '@whiskeysockets/baileys/lib/WABinary/constants.js';
import { expect } from 'chai';

/** Every kind of thing that stanzas consist of, as texts; in stanzas of their own and together. */
const TEXTS = [
  ...[
    'message',
    'devices',
    'not in the dictionary',
    '12345',
    '123456',
    '1-2.3',
    'A0FF',
    'A0FF1',
    'a0ff',
    'ünïcode',
    'x'.repeat(300),
  ],
  ...['491701234567@s.whatsapp.net', '491701234567:7@s.whatsapp.net', '123456789012345:99@lid', '123@g.us', '@g.us'],
  ...[
    'status@broadcast',
    '1:2@hosted',
    '1:2@hosted.lid',
    '5_2:3@c.us',
    '1'.repeat(127),
    '1'.repeat(128),
    'y'.repeat(70_000),
  ],
];
const CONTENTS: NonNullable<BinaryNode['content']>[] = [
  ...[Buffer.alloc(0), Buffer.alloc(1, 7), Buffer.alloc(255, 1), Buffer.alloc(256, 2), Buffer.alloc(1 << 20, 3)],
  ...TEXTS,
  [],
  TEXTS.map((text) => ({ tag: 'item', attrs: { value: text } })),
  Array.from({ length: 300 }, (_, index) => ({ tag: 'to', attrs: { jid: `${index}@lid` }, content: [] })),
];

describe('the codec of stanzas', () => {
  const stanzas: BinaryNode[] = [
    ...TEXTS.map((text) => ({ tag: 'iq', attrs: { id: text, [text]: 'value' } })),
    ...CONTENTS.map((content) => ({ tag: 'iq', attrs: { to: '@s.whatsapp.net' }, content })),
    ...dictionary.DOUBLE_BYTE_TOKENS.flat().map((token) => ({ tag: token, attrs: { token } })),
  ];

  it('encodes as the library does', () => {
    for (const stanza of stanzas)
      expect(encodeNode(stanza).equals(encodeBinaryNode(stanza))).to.equal(true, stanza.tag);
  });

  it('decodes as the library does', async () => {
    for (const stanza of stanzas) {
      const bytes = encodeBinaryNode(stanza);
      // As JSON: the library writes down contents that are not there.
      expect(JSON.stringify(decodeNode(bytes))).to.equal(JSON.stringify(await decodeBinaryNode(bytes)));
    }
  });

  it('throws on every stanza that was cut short', () => {
    const bytes = encodeNode({ tag: 'iq', attrs: { id: 'some id' }, content: [{ tag: 'ping', attrs: {} }] });
    for (let length = 1; length < bytes.length; length += 1) {
      expect(() => decodeNode(bytes.subarray(0, length)), String(length)).to.throw();
    }
  });
});
