import { randomBytes } from 'node:crypto';
import { isPlausible, platformIds } from '@gateway/contracts/sends/platform-id';
import { expect } from 'chai';

const GOLDEN = ['3EB064837F6FFA54F6CD1E', '3EB0755C3BC1A5ABBEDD39', '3EB01F3D3BA836C7D11EE4', '3EB0FB73FE84F25FFA1DE5'];

describe('platformIds', () => {
  const ids = platformIds(Buffer.alloc(16, 7));
  /** Another process, which has made none of them. */
  const reader = platformIds(Buffer.alloc(16, 7));

  it('reads back what it made, over the whole range', () => {
    const tags = [
      '0000000000000',
      'fffffffffffff',
      ...Array.from({ length: 500 }, () => randomBytes(7).toString('hex').slice(0, 13)),
    ];
    for (const tag of tags) {
      for (const recipient of [0, 1, 9_999, 65_535]) {
        for (const part of [0, 15]) {
          const parts = { tag, recipient, part };
          const id = ids.make(parts);
          expect(ids.parse(id), 'remembered').to.deep.equal(parts);
          expect(reader.parse(id)).to.deep.equal(parts);
        }
      }
    }
  });

  it('looks like an id of the network and gives the same one each time', () => {
    const parts = { tag: '0123456789abc', recipient: 42, part: 0 };
    expect(ids.make(parts))
      .to.match(/^3EB0[0-9A-F]{18}$/)
      .and.to.equal(ids.make(parts));
  });

  it('makes many together as it makes each, and as it always did', () => {
    const [recipients, parts] = [[0, 1, 9_999, 65_535], 16];
    for (const tag of ['0000000000000', '0123456789abc', 'fffffffffffff']) {
      const each = recipients.flatMap((recipient) =>
        Array.from({ length: parts }, (_, part) => ({ tag, recipient, part })),
      );
      expect(ids.makeAll({ tag, parts }, recipients)).to.deep.equal(each.map((one) => reader.make(one)));
    }
    const together = ids.makeAll({ tag: '0123456789abc', parts }, recipients);
    // Of the first version: messages that were sent by it are known by these.
    expect([0, 15, 16, 31].map((i) => together[i])).to.deep.equal(GOLDEN);
    expect(ids.makeAll({ tag: '0123456789abc', parts: 1 }, [])).to.deep.equal([]);
  });

  it('never gives two messages the same id', () => {
    const made = new Set<string>();
    for (let recipient = 0; recipient < 10_000; recipient++)
      made.add(ids.make({ tag: '0123456789abc', recipient, part: 0 }));
    expect(made.size).to.equal(10_000);
  });

  it('shows no pattern: half of the bits differ between neighbours', () => {
    const bits = (id: string) =>
      BigInt(`0x${id.slice(4)}`)
        .toString(2)
        .padStart(72, '0');
    let differing = 0;
    for (let recipient = 0; recipient < 1_000; recipient++) {
      const [a, b] = [recipient, recipient + 1].map((n) =>
        bits(ids.make({ tag: '0123456789abc', recipient: n, part: 0 })),
      );
      differing += [...a!].filter((bit, i) => bit !== b![i]).length;
    }
    expect(differing / 1_000).to.be.within(34, 38);
  });

  it('says of most ids that were made up that no send can have them', () => {
    const madeUp = Array.from({ length: 5_000 }, () => `3EB0${randomBytes(9).toString('hex').toUpperCase()}`);
    const plausible = madeUp.filter((id) => isPlausible(ids.parse(id)!));
    expect(plausible.length).to.be.within(200, 600);
    for (const part of [0, 1]) expect(isPlausible({ tag: '0123456789abc', recipient: 9_999, part })).to.equal(true);
  });

  it('depends on the key, and takes nothing that is not an id', () => {
    const parts = { tag: '0123456789abc', recipient: 1, part: 0 };
    const other = platformIds(Buffer.alloc(16, 8));
    expect(other.make(parts)).not.to.equal(ids.make(parts));
    expect(other.parse(ids.make(parts))).not.to.deep.equal(parts);
    for (const text of ['', '3EB0', `3EB0${'x'.repeat(18)}`, `AAAA${'0'.repeat(18)}`])
      expect(ids.parse(text)).to.equal(undefined);
  });
});
