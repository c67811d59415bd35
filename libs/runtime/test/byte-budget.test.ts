import { ByteBudget } from '@gateway/runtime/bytes/byte-budget';
import { defer } from '@gateway/runtime/deferred';
import { expect } from 'chai';

const SMALL = 10_000;
const LARGE = 60_000;

describe('a budget of bytes', () => {
  const useBudget = (capacity: number) => {
    const budget = new ByteBudget(capacity);
    const begun: string[] = [];
    const start = (holder: string, bytes: number) => {
      const end = defer<void>();
      const done = budget.hold({ holder, bytes }, async (hasWaited) => {
        begun.push(hasWaited ? `${holder} later` : holder);
        await end.promise;
      });
      return async () => {
        end.resolve();
        await done;
      };
    };
    return { budget, begun, start };
  };

  it('is never held beyond its size, and what waits holds nothing', async () => {
    const { budget, begun, start } = useBudget(2 * LARGE);
    const ends = ['a', 'a', 'a'].map((holder) => start(holder, LARGE));
    expect(begun).to.deep.equal(['a', 'a']);
    expect(budget.heldBytes).to.equal(2 * LARGE);
    await ends[0]!();
    expect(begun).to.deep.equal(['a', 'a', 'a later']);
    await Promise.all(ends.slice(1).map((end) => end()));
    expect(budget.heldBytes).to.equal(0);
  });

  it('goes to those who hold least, however many places others want', async () => {
    const { begun, start } = useBudget(2 * LARGE);
    const ends = ['a', 'a', 'a', 'a', 'b'].map((holder) => start(holder, LARGE));
    await ends[0]!();
    expect(begun).to.deep.equal(['a', 'a', 'b later']);
    await Promise.all(ends.slice(1).map((end) => end()));
  });

  it('lets what is small pass at once', async () => {
    const { begun, start } = useBudget(LARGE);
    const ends = [start('a', LARGE), start('a', LARGE), start('b', SMALL)];
    expect(begun).to.deep.equal(['a', 'b']);
    await Promise.all(ends.map((end) => end()));
  });

  it('is had whole by what is more than there is', async () => {
    const { begun, start } = useBudget(LARGE);
    const ends = [start('a', LARGE), start('b', 3 * LARGE), start('c', LARGE)];
    expect(begun).to.deep.equal(['a']);
    await ends[0]!();
    expect(begun).to.deep.equal(['a', 'b later']);
    await ends[1]!();
    expect(begun).to.deep.equal(['a', 'b later', 'c later']);
    await ends[2]!();
  });

  it('is given back by what fails', async () => {
    const { budget } = useBudget(LARGE);
    const failed = budget.hold({ holder: 'a', bytes: LARGE }, () => Promise.reject(new Error('no')));
    expect(await failed.catch((error: Error) => error.message)).to.equal('no');
    expect(budget.heldBytes).to.equal(0);
  });

  it('is free again after a while of what only waits, which goes on all the same, and at once of what fails', async () => {
    const budget = new ByteBudget(LARGE);
    const answer = defer<string>();
    const hold = (work: () => Promise<string>) => budget.holdBriefly({ holder: 'a', bytes: LARGE }, 100, work);
    const waiting = hold(() => answer.promise);
    expect(budget.heldBytes).to.equal(LARGE);
    expect(await hold(async () => 'next')).to.equal('next');
    expect(budget.heldBytes).to.equal(0);
    answer.resolve('late');
    expect(await waiting).to.equal('late');
    const failed = await hold(() => Promise.reject(new Error('gone'))).catch((error: Error) => error.message);
    expect([failed, budget.heldBytes]).to.deep.equal(['gone', 0]);
  });
});
