import { type Contents, contentOfPart, isMessageContent } from '@gateway/contracts/content/message-content';
import { priorityOf } from '@gateway/contracts/jobs';
import { expect } from 'chai';

/** One of each kind, with the least that it says. A kind that is missing does not compile. */
const LEAST: { [Kind in keyof Contents]: Contents[Kind] } = {
  text: { kind: 'text', text: 'hello' },
  media: { kind: 'media', type: 'image', mimeType: 'image/png', blob: 'a1', blobHolder: 'b2', sizeBytes: 3 },
};

describe('what is stored of a content', () => {
  for (const [kind, content] of Object.entries(LEAST)) {
    it(`is known as ${kind}, with what a later version adds, and not without a field that it needs`, () => {
      expect(isMessageContent(content)).to.equal(true);
      expect(isMessageContent({ ...content, ofLater: 1 })).to.equal(true);
      for (const field of Object.keys(content)) {
        const { [field]: _left, ...others } = content as unknown as Record<string, unknown>;
        expect(isMessageContent(others), field).to.equal(false);
      }
    });
  }

  it('is not known when its kind is not, whatever that is called', () => {
    for (const kind of ['poll', 'constructor', '__proto__', '', undefined]) {
      expect(isMessageContent({ ...LEAST.text, kind }), String(kind)).to.equal(false);
    }
    for (const nothing of [undefined, null, 'text', 1]) expect(isMessageContent(nothing)).to.equal(false);
  });

  it('is not known without a text, or with something else in its place', () => {
    for (const text of ['', 1, null, ['hello'], { text: 'hello' }])
      expect(isMessageContent({ ...LEAST.text, text }), JSON.stringify(text)).to.equal(false);
  });

  it('has a second message where a text follows it, and no third', () => {
    const media = { ...LEAST.media, followingText: 'more' };
    expect(contentOfPart(media, 0)).to.equal(media);
    expect(contentOfPart(media, 1)).to.deep.equal({ kind: 'text', text: 'more' });
    expect(contentOfPart(media, 2)).to.equal(undefined);
    expect(contentOfPart(LEAST.media, 1)).to.equal(undefined);
    expect(contentOfPart(LEAST.text, 1)).to.equal(undefined);
  });

  it('says nothing of how urgent it is: one-time passwords alone go before others', () => {
    expect(priorityOf({ kind: 'otp' })).to.equal('otp');
    for (const kind of Object.keys(LEAST) as (keyof Contents)[]) expect(priorityOf({ kind })).to.equal('bulk');
  });
});
