import { eventSchema, type GatewayEvent } from '@gateway/contracts/events/events';
import { hideParts } from '@gateway/contracts/webhooks/hide-parts';
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

  it('is looked for in time that grows with the text only', () => {
    const content = { type: 'text', text: `${'7700 90012 '.repeat(6_000)}` };
    const began = process.cpuUsage();
    hide(received(content), { numbers: 'masked' });
    const { user } = process.cpuUsage(began);
    expect(user / 1000).to.be.below(200);
  });
});
