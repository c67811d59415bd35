import { type Holder, Places, paceOf } from '@gateway/webhooks/turns/places';
import { expect } from 'chai';

const MINUTE_MS = 60_000;

describe('the places of a process that delivers webhooks', () => {
  /** How many a workspace gets that wants all. */
  const fill = (places: Places, pace: Holder['pace'], workspace: string): Holder[] => {
    const holders: Holder[] = [];
    for (; places.isFree(pace, workspace); places.take(holders.at(-1)!)) holders.push({ workspace, pace, sinceMs: 0 });
    return holders;
  };

  it('are half for one workspace, all of whose endpoints that is, and some stay for the next, however many there are', () => {
    for (const [pace, half] of [
      ['quick', 50],
      ['slow', 100],
    ] as const) {
      const places = new Places();
      expect(fill(places, pace, 'w0')).to.have.length(half);
      for (let n = 1; n < 20; n++) {
        expect(places.isFree(pace, `w${n}`), `${n}`).to.equal(true);
        if (n < 6) fill(places, pace, `w${n}`);
      }
    }
  });

  it('go from those that turn out to be slow to others, and are as they were when all have left', () => {
    const places = new Places();
    const all = [...fill(places, 'quick', 'w0'), ...fill(places, 'quick', 'w1')];
    const before = all.filter(({ pace }) => pace === 'quick').length;
    places.moveLate(1_000);
    expect(all.filter(({ pace }) => pace === 'quick')).to.have.length(before);
    places.moveLate(1_001);
    expect(all.filter(({ pace }) => pace === 'quick')).to.deep.equal([]);
    expect(fill(places, 'quick', 'w2')).to.have.length(50);
    expect(places.isFree('slow', 'w2')).to.equal(true);
    for (const holder of all) places.leave(holder);
    expect(fill(places, 'slow', 'w3')).to.have.length(100);
  });

  it('are those of the slow for who was late, until that is ten minutes ago', () => {
    expect(paceOf(undefined, 0)).to.equal('quick');
    expect(paceOf(5, 5 + 10 * MINUTE_MS - 1)).to.equal('slow');
    expect(paceOf(5, 5 + 10 * MINUTE_MS)).to.equal('quick');
  });
});
