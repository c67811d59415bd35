import { ReplacedCount } from '@gateway/sender/replaced-count';
import { expect } from 'chai';

const TEN_MINUTES_MS = 600_000;

describe('ReplacedCount', () => {
  const countAt = (...timesMs: number[]) => {
    let nowMs = 0;
    const count = new ReplacedCount(() => nowMs);
    return timesMs.map((at) => {
      nowMs = at;
      return count.isTooOften();
    });
  };

  it('gives up at the third time within ten minutes', () => {
    expect(countAt(0, 1, TEN_MINUTES_MS - 1)).to.deep.equal([false, false, true]);
  });

  it('forgets what is longer ago', () => {
    expect(countAt(0, 1, TEN_MINUTES_MS, 2 * TEN_MINUTES_MS)).to.deep.equal([false, false, false, false]);
    expect(countAt(0, TEN_MINUTES_MS, TEN_MINUTES_MS + 1, TEN_MINUTES_MS + 2)).to.deep.equal([
      ...[false, false, false, true],
    ]);
  });
});
