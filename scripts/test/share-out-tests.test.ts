import { shareOutTests } from '@gateway/scripts/tests/share-out-tests';
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
});
