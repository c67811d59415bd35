import { LibraryTurns } from '@gateway/sender/dispatching/library-turns';
import { expect } from 'chai';

describe('the turns of messages at the library', () => {
  let distance: number;
  let turns: LibraryTurns;
  let order: string[];
  beforeEach(() => {
    [distance, order] = [0, []];
    turns = new LibraryTurns({
      get ms() {
        return distance;
      },
    });
  });

  async function take(name: string, { isUrgent = false } = {}): Promise<void> {
    await turns.take({ isUrgent });
    order.push(name);
  }

  it('has one at work and one behind it, and the others in order, codes first', async () => {
    const codes = ['first code', 'second code'];
    const all = [
      ...['a', 'b', 'c', 'd'].map((name) => take(name)),
      ...codes.map((name) => take(name, { isUrgent: true })),
    ];
    await Promise.all(all.slice(0, 2));
    expect(order).to.deep.equal(['a', 'b']);
    for (let i = 0; i < 4; i++) turns.give();
    await Promise.all(all);
    expect(order).to.deep.equal(['a', 'b', ...codes, 'c', 'd']);
  });

  it('refuses those who wait, and all who come, when there are no more turns', async () => {
    const all = [1, 2, 3].map(() => turns.take({ isUrgent: false }));
    turns.end();
    expect(await Promise.all([...all, turns.take({ isUrgent: true })])).to.deep.equal([true, true, false, false]);
  });

  it('has no more than that claimed while Redis is near', () => {
    distance = 0.3;
    expect([turns.limit, turns.limitOfOtps]).to.deep.equal([2, 28]);
  });

  it('has the more claimed the farther Redis is, up to a bound; and codes come on top', () => {
    distance = 5;
    expect(turns.limit).to.equal(17);
    distance = 50;
    expect([turns.limit, turns.limitOfOtps]).to.deep.equal([26, 28]);
  });
});
