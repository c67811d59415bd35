import { INBOUND_LIMITS } from '@gateway/contracts/content/inbound-content';
import { eventSchema, type GatewayEvent } from '@gateway/contracts/events/events';
import { hideParts } from '@gateway/contracts/webhooks/hide-parts';
import { readContacts } from '@gateway/messenger/inbound/read-contacts';
import { expect } from 'chai';

const FROM = '447700900124';
const CONTACT = '491511234567';
const to = { platformMessageId: '3EB0AA' };
const media = {
  ...{
    id: 'med_x',
    mimeType: 'image/jpeg',
    bytes: 1,
    sha256: 'hash',
    filename: `photo of ${FROM}.jpg`,
    url: '/media/med_x',
  },
};
const CONTENTS = [
  { type: 'text', text: `call me: +44 7700 900-124, (0) 7700900124 or ${FROM}; order 123456789012` },
  { type: 'image', text: 'Look', media },
  { type: 'location', latitude: 51.5, longitude: -0.1, name: 'the office' },
  { type: 'contact', contacts: [{ name: 'Bea', phones: [CONTACT] }] },
  { type: 'reaction', emoji: '👍', to },
  { type: 'edited', to, text: 'better' },
  { type: 'deleted', to },
];

describe('what an endpoint does not want to know', () => {
  const received = (content: object, from = FROM): GatewayEvent => ({
    ...{ id: 'evt_x_3A01_received', type: 'message.received', version: 1, device: 'main' },
    timestamp: '2026-11-21T19:22:16.120Z',
    data: {
      ...{ platformMessageId: '3A01', from, name: `Ann ${FROM}`, at: '2026-11-21T19:22:16.000Z' },
      ...{ content, replyTo: { platformMessageId: '3EB0BB' } },
    },
  });
  const hide = (event: GatewayEvent, hidden: Partial<Parameters<typeof hideParts>[1]>) => {
    const shown = hideParts(event, { content: 'full', numbers: 'full', ...hidden });
    expect(eventSchema(shown.type).validate(shown).error?.message).to.equal(undefined);
    return shown;
  };

  it('is, without contents, all but who wrote and when', () => {
    for (const content of CONTENTS) {
      const { data } = hide(received(content), { content: 'none' });
      expect(data).to.deep.equal({
        ...{ platformMessageId: '3A01', from: FROM, at: '2026-11-21T19:22:16.000Z' },
        ...{ name: null, content: { type: 'text', text: null }, replyTo: null },
      });
    }
  });

  it('is, masked, most digits of each number, and of the own one where it is written into names and texts', () => {
    for (const content of CONTENTS) {
      const shown = hide(received(content), { numbers: 'masked' });
      const digits = JSON.stringify(shown.data).replace(/[^\p{L}\p{N}{}]/gu, '');
      for (const number of [FROM, FROM.slice(2), CONTACT]) expect(digits).not.to.include(number);
      expect(shown.data.from).to.equal('447***24');
    }
    const [text] = CONTENTS;
    expect((hide(received(text!), { numbers: 'masked' }).data.content as { text: string }).text).to.equal(
      'call me: +447***24, (077***24 or 447***24; order 123456789012',
    );
    expect(hide(received(text!, '123456789012345@lid'), { numbers: 'masked' }).data.from).to.equal('123***45@lid');
  });

  for (const [how, spelled] of [
    ['Arabic digits', '٧٧٠٠٩٠٠١٢٤'],
    ['Persian digits', '۰۷۷۰۰ ۹۰۰۱۲۴'],
    ['full-width digits', '＋４４７７００９００１２４'],
    ['bold digits, as people adorn their names', '𝟕𝟕𝟎𝟎𝟗𝟎𝟎𝟏𝟐𝟒'],
    ['Javanese digits', '꧗꧗꧐꧐꧙꧐꧐꧑꧒꧔'],
    ['signs between the digits', '(7700) ... 900 - ( 124 )'],
  ] as const) {
    it(`is the own number also in ${how}, in a text and in place of an emoji`, () => {
      for (const content of [
        { type: 'text', text: `call ${spelled}.` },
        { type: 'reaction', emoji: spelled, to },
      ]) {
        const { data } = hide(received(content), { numbers: 'masked' });
        const shown = JSON.stringify(data.content);
        expect(shown).not.to.include(spelled);
        expect(shown).to.match(/\d\*{3}24/);
      }
    });
  }

  it('is the own number also twice without anything in between, and in the type of a file', () => {
    const text = `${FROM}${FROM}`;
    const mimeType = `image/jpeg; name="${FROM}.jpg"`;
    const { data } = hide(received({ type: 'image', text, media: { ...media, mimeType } }), { numbers: 'masked' });
    expect(JSON.stringify(data)).not.to.include(FROM);
    expect((data.content as { text: string }).text).to.equal('447***24447***24');
  });

  for (const [how, name] of [
    ['as it is', CONTACT],
    ['with a plus and spaces', '+49 1511 234567'],
    ['with zeros in front', '0049-1511/234567'],
    ['in brackets', '+49 (0)1511 23-45-67'],
    ['without the code of the country', '(01511) 234567'],
    ['in Arabic digits, behind a word', 'Bea ٠١٥١١٢٣٤٥٦٧'],
  ] as const) {
    it(`is the number of a shared contact also where it is the name of one: ${how}`, () => {
      const contacts = [
        { name, phones: ['447700900555', CONTACT] },
        { name: `the other of ${name}`, phones: [] },
      ];
      const { data } = hide({ ...received({ type: 'contact', contacts }) }, { numbers: 'masked' });
      const digits = JSON.stringify(data.content).replace(/[^\p{L}\p{N}{}]/gu, '');
      expect(digits).not.to.match(/1511234567|١٥١١٢٣٤٥٦٧/);
      expect((data.content as { contacts: { name: string }[] }).contacts[0]!.name).to.match(/\d{3}\*{3}67$/);
    });
  }

  it('is the number of a contact whose card has no name, and leaves those that are names', () => {
    const vcard = 'BEGIN:VCARD\nN:;;;;\nFN:+49 1511 1234567\nTEL;waid=4915111234567:+49 1511 1234567\nEND:VCARD';
    const contacts = [
      ...readContacts([{ vcard }, { displayName: '+49 1511 1234567', vcard }]),
      { name: 'Taxi 12345', phones: ['12345'] },
      { name: 'Bea 2', phones: [CONTACT] },
    ];
    const { content } = hide(received({ type: 'contact', contacts }), { numbers: 'masked' }).data;
    expect((content as { contacts: unknown }).contacts).to.deep.equal([
      { name: '+491***67', phones: ['491***67'] },
      { name: '+491***67', phones: ['491***67'] },
      { name: 'Taxi ***', phones: ['***'] },
      { name: 'Bea 2', phones: ['491***67'] },
    ]);
  });

  it('is looked for in many cards in a moment', () => {
    const { maxContacts, maxPhonesOfContact, maxNameCharacters } = INBOUND_LIMITS;
    const contacts = Array.from({ length: maxContacts }, (_, card) => ({
      name: '7700 90012 '.repeat(maxNameCharacters).slice(0, maxNameCharacters),
      phones: Array.from({ length: maxPhonesOfContact }, (_, n) => `44${7_700_900_000 + 100 * card + n}`),
    }));
    const began = process.cpuUsage();
    for (let n = 0; n < 10; n++) hide(received({ type: 'contact', contacts }), { numbers: 'masked' });
    const { user } = process.cpuUsage(began);
    expect(user / 1000).to.be.below(500);
  });

  it('is looked for in time that grows with the text only', () => {
    const content = { type: 'text', text: `${'7700 90012 '.repeat(6_000)}` };
    const began = process.cpuUsage();
    hide(received(content), { numbers: 'masked' });
    const { user } = process.cpuUsage(began);
    expect(user / 1000).to.be.below(200);
  });
});
