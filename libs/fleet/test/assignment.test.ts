import { chooseOrphans, countSurplus } from '@gateway/fleet/assignment';
import type { Member } from '@gateway/store/fleet/members';
import { expect } from 'chai';

const devices = (count: number) => Array.from({ length: count }, (_, i) => `device-${i}`);
const members = (helds: number[], capacity = 100_000): Member[] =>
  helds.map((held, i) => ({ id: `sender-${i}`, held, capacity }));

const fleetOf = (self: string, all: readonly Member[], orphans: readonly string[]) => {
  const devices = all.reduce((sum, { held }) => sum + held, orphans.length);
  return { self, members: all, orphans, devices };
};

/** What each claims when all look at once. */
function claims(all: readonly Member[], orphans: readonly string[], isLate = () => false): string[][] {
  return all.map(({ id }) => chooseOrphans(fleetOf(id, all, orphans), isLate));
}
const loads = (all: readonly Member[], claimed: readonly string[][]) =>
  all.map(({ held }, i) => held + claimed[i]!.length);

describe('the devices that a process claims', () => {
  it('are all of them, each by one process, and equally many for each: 10,000 for ten in a few milliseconds', () => {
    const [all, orphans] = [members(Array(10).fill(0)), devices(10_000)];
    const claimed = claims(all, orphans);
    const times = all.map(({ id }) => {
      const startMs = performance.now();
      chooseOrphans(fleetOf(id, all, orphans));
      return performance.now() - startMs;
    });
    // The quickest: other work of the machine is none of its own.
    expect(Math.min(...times)).to.be.below(5);
    expect(claimed.flat().sort()).to.deep.equal([...orphans].sort());
    expect(loads(all, claimed)).to.deep.equal(Array(10).fill(1_000));
  });

  it('after one has died are its devices only, in equal parts', () => {
    const all = members(Array(9).fill(1_000));
    expect(loads(all, claims(all, devices(1_000))).sort()).to.deep.equal([...Array(8).fill(1_111), 1_112]);
  });

  it('go to one that has just come, while another ends', () => {
    const all = [
      ...members([50, 50, 50]),
      { id: 'ends', held: 46, capacity: 0 },
      { id: 'new', held: 0, capacity: 1_000 },
    ];
    expect(claims(all, devices(4)).map(({ length }) => length)).to.deep.equal([0, 0, 0, 0, 4]);
  });

  it('are none where all have an owner: what one sender has never moves because another has come', () => {
    expect(claims(members([10, 10, 0]), [])).to.deep.equal([[], [], []]);
  });

  it('keep to the room that there is; the others have more than their share rather than leave a device out', () => {
    const all: Member[] = [
      { id: 'large', held: 0, capacity: 500 },
      { id: 'small', held: 0, capacity: 10 },
    ];
    expect(loads(all, claims(all, devices(400)))).to.deep.equal([390, 10]);
    expect(loads(all, claims(all, devices(1_000)))).to.deep.equal([500, 10]);
    expect(chooseOrphans(fleetOf('unknown', all, devices(4)))).to.deep.equal([]);
  });

  it('are those of a process that does not claim its part in good time, too, up to a tenth over the fair share', () => {
    const all = members([100, 100, 0]);
    const [first] = claims(all, devices(100), () => true);
    // 300 in all: 110 at most, and none is its own part.
    expect(first).to.have.length(10);
    expect(claims(all, devices(100))[0]).to.have.length(0);
  });
});

describe('the devices that a process gives back', () => {
  const surplus = (all: readonly Member[], orphans: readonly string[] = []) =>
    all.map(({ id }) => countSurplus(fleetOf(id, all, orphans)));

  it('are those beyond a tenth over its fair share', () => {
    expect(surplus(members([140, 100, 60]))).to.deep.equal([30, 0, 0]);
    expect(surplus(members([110, 100, 90]))).to.deep.equal([0, 0, 0]);
    expect(surplus(members([2, 1]))).to.deep.equal([0, 0]);
  });

  it('are no more when loads are old: what moves is counted all the same', () => {
    const stale = [...members([7]), { id: 'new', held: 2, capacity: 100 }];
    expect(countSurplus({ self: 'sender-0', members: stale, orphans: [], devices: 12 })).to.equal(0);
  });

  it('are none when the others have no room for them', () => {
    const others = members([10, 10], 10);
    expect(surplus([{ id: 'large', held: 200, capacity: 1_000 }, ...others])).to.deep.equal([0, 0, 0]);
  });

  it('are few in all when another comes, and then no load is over the bound', () => {
    expect(surplus(members([...Array(10).fill(1_000), 0])), '909 is the fair share').to.deep.equal(Array(11).fill(0));
    let all = members([...Array(5).fill(2_000), 0]);
    let moved = 0;
    while (surplus(all).some((count) => count > 0)) {
      const given = surplus(all).map((count) => Math.min(count, 2));
      const freed = devices(given.reduce((sum, count) => sum + count));
      all = all.map((member, i) => ({ ...member, held: member.held - given[i]! }));
      const claimed = claims(all, freed);
      all = all.map((member, i) => ({ ...member, held: member.held + claimed[i]!.length }));
      moved += freed.length;
    }
    expect(moved).to.equal(5 * 166);
    expect(all.map(({ held }) => held)).to.deep.equal([...Array(5).fill(1_834), 830]);
  });
});
