import { randomBytes } from 'node:crypto';
import '@gateway/messenger/keys/fast-random';
import { expect } from 'chai';

describe('random bytes of the library', () => {
  it('are as many as were asked for, and no two alike', () => {
    const taken = Array.from({ length: 2_000 }, (_, i) => randomBytes(16 + (i % 49)));
    expect(taken.map(({ length }) => length)).to.deep.equal(taken.map((_, i) => 16 + (i % 49)));
    expect(new Set(taken.map((bytes) => bytes.toString('hex').slice(0, 32))).size).to.equal(2_000);
    const ones = new Set(Array.from({ length: 5_000 }, () => randomBytes(1)[0]));
    expect(ones.size, 'every byte there is').to.equal(256);
  });

  it('are of who asked: to change them changes no others', () => {
    const [first, second] = [randomBytes(32), randomBytes(32)];
    const before = second.toString('hex');
    first.fill(1);
    expect(second.toString('hex')).to.equal(before);
    expect(randomBytes(32).equals(first)).to.equal(false);
  });

  it('come in any number, and later, as without it', async () => {
    expect([randomBytes(0).length, randomBytes(100_000).length]).to.deep.equal([0, 100_000]);
    const later = await new Promise<Buffer>((resolve, reject) => {
      randomBytes(8, (error, bytes) => (error ? reject(error) : resolve(bytes)));
    });
    expect(later.length).to.equal(8);
    for (const size of [-1, Number.NaN, 2 ** 40]) expect(() => randomBytes(size)).to.throw(RangeError);
  });
});
