import { KIND_CODES } from '@gateway/contracts/content/message-content';
import { packNumber, packSend, unpackHead, unpackPlaces, unpackTexts } from '@gateway/contracts/sends/packed-send';
import {
  HEAD_BYTES,
  HEAD_LAYOUT,
  HEAD_RANGE,
  offsetsOf,
  PLACE_BYTES,
  placeRange,
  RECORD_VERSION,
  TEXT_FIELDS,
  TEXT_RANGE,
  widthOf,
} from '@gateway/contracts/sends/send-layout';
import { RECIPIENT_STATUSES } from '@gateway/contracts/sends/statuses';
import { expect } from 'chai';

const AT_MS = 1_700_000_000_123;
const NUMBERS = ['1234567', '999999999999999', '4915112345678'];
const TEXTS = { messageId: 'msg_1', owner: 'key', requestId: 'req_ü', blob: '' };
const SEND: Parameters<typeof packSend>[0] = {
  ...{ state: 'open', kind: 'media', priority: 'bulk', parts: 2, accountEpoch: 7 },
  ...{ recipients: NUMBERS, nowMs: AT_MS, expiresAtMs: AT_MS + 5, texts: TEXTS },
};
const NOTHING_YET = { status: 'queued', attempts: 0, partsInFlight: 0, partsAcked: 0, partsInDoubt: 0, errorCode: 0 };

/** As Redis answers `GETRANGE`. */
function rangeOf(bytes: Buffer, { start, end }: { start: number; end: number }): Buffer {
  return start < 0 ? bytes.subarray(start) : bytes.subarray(start, end + 1);
}

describe('a packed send', () => {
  const packed = packSend(SEND);
  const head = rangeOf(packed, HEAD_RANGE);
  const read = (from: number, limit: number, count = limit) =>
    unpackPlaces(rangeOf(packed, placeRange(from, limit)), { from, count });

  it('says all that it was made with, and begins with its version', () => {
    expect(packed[0]).to.equal(RECORD_VERSION);
    expect(unpackHead(head)).to.deep.equal({
      ...{ state: 'open', kind: 'media', priority: 'bulk', parts: 2, total: 3, accountEpoch: 7 },
      counts: { ...Object.fromEntries(RECIPIENT_STATUSES.map((status) => [status, 0])), queued: 3 },
      ...{ createdAtMs: AT_MS, expiresAtMs: AT_MS + 5 },
    });
    expect(unpackTexts(rangeOf(packed, TEXT_RANGE), head)).to.deep.equal(TEXTS);
  });

  it('says when it was cancelled, and accepted, if it was', () => {
    const changed = Buffer.from(head);
    const at = offsetsOf(HEAD_LAYOUT);
    changed.writeUIntBE(AT_MS + 1, at.cancelledAt, 6);
    changed.writeUIntBE(AT_MS + 2, at.sentAt, 6);
    expect(unpackHead(changed)).to.include({ cancelledAtMs: AT_MS + 1, sentAtMs: AT_MS + 2 });
  });

  it('has its texts at the end, however many recipients there are', () => {
    const list = packSend({ ...SEND, recipients: Array.from({ length: 10_000 }, (_, i) => `${4915110000000 + i}`) });
    expect(list.length).to.be.below(231_000);
    expect(unpackTexts(rangeOf(list, TEXT_RANGE), rangeOf(list, HEAD_RANGE))).to.deep.equal(TEXTS);
    expect(unpackPlaces(rangeOf(list, placeRange(9_999, 1)), { from: 9_999, count: 1 })[0]?.to).to.equal(
      '4915110009999',
    );
  });

  it('has a place for each recipient, who is queued, and none behind the last', () => {
    const places = NUMBERS.map((to, index) => ({ index, to, ...NOTHING_YET, atMs: AT_MS }));
    expect(read(0, 3)).to.deep.equal(places);
    expect(read(1, 1)).to.deep.equal(places.slice(1, 2));
    expect(read(1, 100, 2), 'and not the texts').to.deep.equal(places.slice(1));
    expect(unpackPlaces(Buffer.alloc(PLACE_BYTES + 5), { from: 0, count: 2 }), 'no half of one').to.have.length(1);
  });

  it('reads each field of a result from its place', () => {
    const place = Buffer.concat([packNumber('1234567'), Buffer.of(4, 2, 3, 5, 1, 207, 0, 0, 0, 0, 0, 9, 6, 7, 8)]);
    expect(unpackPlaces(place, { from: 0, count: 1 })).to.deep.equal(
      [
        ...[
          { index: 0, to: '1234567', status: 'failed', attempts: 2, partsInFlight: 3, partsAcked: 5, errorCode: 463 },
        ],
      ].map((each) => ({ ...each, atMs: 9, partsInDoubt: 8 })),
    );
    place[8] = 7;
    expect(() => unpackPlaces(place, { from: 0, count: 1 })).to.throw('unknown code 7');
    expect(unpackPlaces(Buffer.alloc(PLACE_BYTES), { from: 0, count: 1 })[0]?.to, 'taken out').to.equal('forgotten');
  });

  it('says where in a trace it was accepted, if it is traced, and is no byte longer otherwise', () => {
    const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const traced = packSend({ ...SEND, texts: { ...TEXTS, trace } });
    expect(unpackTexts(rangeOf(traced, TEXT_RANGE), rangeOf(traced, HEAD_RANGE))).to.deep.equal({ ...TEXTS, trace });
    expect(traced).to.have.length(packed.length + 1 + trace.length);
    const longest = Object.fromEntries(TEXT_FIELDS.map((field) => [field, 'x'.repeat(255)])) as typeof TEXTS;
    const list = packSend({ ...SEND, texts: { ...longest, trace } });
    expect(unpackTexts(rangeOf(list, TEXT_RANGE), rangeOf(list, HEAD_RANGE))).to.deep.equal({ ...longest, trace });
  });

  it('takes no text that is longer than its length can say', () => {
    const owner = 'x'.repeat(255);
    expect(packSend({ ...SEND, texts: { ...TEXTS, owner } })).to.have.length(packed.length + 252);
    expect(() => packSend({ ...SEND, texts: { ...TEXTS, owner: `${owner}x` } })).to.throw(
      'owner of a send is too long',
    );
  });

  it('costs a single message less than 200 bytes', () => {
    const texts = { ...TEXTS, messageId: `msg_${'x'.repeat(24)}`, requestId: `req_${'x'.repeat(36)}` };
    expect(packSend({ ...SEND, recipients: NUMBERS.slice(2), texts })).to.have.length.below(200);
  });

  it('has a code for each kind, and a count for each status', () => {
    expect(new Set(Object.values(KIND_CODES)).size).to.equal(Object.keys(KIND_CODES).length);
    expect(Object.keys(HEAD_LAYOUT)).to.include.members([...RECIPIENT_STATUSES]);
    expect(HEAD_BYTES).to.equal(widthOf(HEAD_LAYOUT));
    expect(TEXT_RANGE.start).to.be.at.most(-256 * TEXT_FIELDS.length);
  });
});
