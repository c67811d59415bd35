import { WritersWithoutNumber } from '@gateway/sender/scheduling/writers-without-number';
import { expect } from 'chai';

describe('people who write without a number', () => {
  it('are named once, when their number is known', () => {
    const writers = new WritersWithoutNumber();
    for (let i = 0; i < 2; i++) writers.add('71@lid');
    expect(writers.take('72@lid'), 'did not write').to.equal(false);
    expect(writers.take('71@lid')).to.equal(true);
    expect(writers.take('71@lid'), 'again').to.equal(false);
  });

  it('are forgotten when thousands of others have written since', () => {
    const writers = new WritersWithoutNumber();
    for (const hiddenId of ['1@lid', '2@lid']) writers.add(hiddenId);
    for (let i = 0; i < 1_998; i++) writers.add(`7${i}@lid`);
    writers.add('1@lid');
    writers.add('3@lid');
    expect(['1@lid', '2@lid', '3@lid'].map((hiddenId) => writers.take(hiddenId))).to.deep.equal([true, false, true]);
  });
});
