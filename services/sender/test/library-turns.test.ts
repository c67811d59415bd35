import { LibraryTurns } from '@gateway/sender/dispatching/library-turns';
import { expect } from 'chai';

describe('the turns of messages at the library', () => {
  let started: number;
  let turns: LibraryTurns;
  let order: string[];
  beforeEach(() => {
    [started, order] = [0, []];
    turns = new LibraryTurns(() => started);
  });

  async function take(name: string, { isUrgent = false } = {}): Promise<void> {
    await turns.take({ isUrgent });
    order.push(name);
  }
  /** The library has been idle so many times while a claim was under way. */
  async function idle(times: number): Promise<void> {
    started = 2;
    for (let i = 0; i < times; i++) {
      await turns.take({ isUrgent: false });
      turns.give();
    }
  }

  it('has one at work and one behind it, and the others in order, codes first', async () => {
    const all = [take('a'), take('b'), take('c'), take('d'), take('code', { isUrgent: true })];
    await Promise.all(all.slice(0, 2));
    expect(order).to.deep.equal(['a', 'b']);
    turns.give();
    await all[4];
    turns.give();
    turns.give();
    await Promise.all(all);
    expect(order).to.deep.equal(['a', 'b', 'code', 'c', 'd']);
  });

  it('claims no more than that, for as long as the library is never idle for want of claims', async () => {
    started = 1;
    await turns.take({ isUrgent: false });
    turns.give();
    expect(turns.limit).to.equal(2);
  });

  it('claims one more each time that the library is, up to a bound; and codes come on top', async () => {
    await idle(5);
    expect(turns.limit).to.equal(7);
    await idle(100);
    expect([turns.limit, turns.limitOfOtps]).to.deep.equal([26, 28]);
  });

  it('claims fewer when too many wait', async () => {
    await idle(10);
    const all = Array.from({ length: 12 }, (_, i) => take(String(i)));
    expect(turns.limit).to.be.within(8, 11);
    for (let i = 0; i < 12; i++) turns.give();
    await Promise.all(all);
  });
});
