import { partOfTests, shareOutTests } from '@gateway/scripts/tests/share-out-tests';
import { expect } from 'chai';

describe('test files', () => {
  it('are each in exactly one run, also those that were never measured', () => {
    const files = Array.from({ length: 50 }, (_, i) => `build/tests/${i}.test.js`);
    const shares = shareOutTests(files, 3, { [files[7]!]: 30, [files[8]!]: 2 });
    expect(shares).to.have.lengthOf(3);
    expect(shares.flat().sort()).to.deep.equal([...files].sort());
  });

  it('are divided by the time they take, not by their number', () => {
    const seconds = { slow: 10, a: 4, b: 3, c: 3 };
    expect(shareOutTests(['a', 'b', 'c', 'slow'], 2, seconds)).to.deep.equal([['slow'], ['a', 'b', 'c']]);
  });

  it('are each in exactly one of several parts', () => {
    const files = Array.from({ length: 50 }, (_, i) => `build/tests/${i}.test.js`);
    const parts = [1, 2, 3, 4].map((number) => partOfTests(files, `${number}/4`, { [files[7]!]: 12 }));
    expect(parts.flat().sort()).to.deep.equal([...files].sort());
    expect(parts.map(({ length }) => length)).to.have.members([5, 15, 15, 15]);
  });

  it('are not run at all for a part that there is not', () => {
    for (const part of ['0/4', '5/4', '1/0', '2', '', '2/4/6', 'two/4'])
      expect(() => partOfTests(['a', 'b'], part, {}), part).to.throw('There is no part');
  });
});
