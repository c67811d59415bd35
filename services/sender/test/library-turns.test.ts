import { defer } from '@gateway/runtime/deferred';
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

  it('gives none to others while something is urgent, but to codes', async () => {
    const end = defer<void>();
    await take('a');
    const urgent = turns.urgently(() => end.promise);
    const others = ['b', 'c'].map((name) => take(name));
    await take('code', { isUrgent: true });
    turns.give();
    turns.give();
    expect(order).to.deep.equal(['a', 'code']);
    end.resolve();
    await Promise.all([urgent, ...others]);
    expect(order).to.deep.equal(['a', 'code', 'b', 'c']);
  });

  it('gives them to others when what is urgent does not end: their claims are good for a moment longer', async () => {
    const startedMs = performance.now();
    void turns.urgently(() => new Promise(() => {}));
    await take('a');
    expect(performance.now() - startedMs).to.be.at.least(45);
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
