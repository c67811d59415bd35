import { chooseOrphans } from '@gateway/fleet/assignment';
import { makeRoom } from '@gateway/fleet/make-room';
import { expect } from 'chai';

describe('the capacity of senders', () => {
  const members = [
    { id: 'a', held: 0, capacity: 100 },
    { id: 'b', held: 0, capacity: 9 },
  ];
  const claimed = (count: number) => {
    const orphans = Array.from({ length: count }, (_, i) => `device-${i}`);
    const fleet = { members: makeRoom(members, count), orphans, devices: count };
    return members.map(({ id }) => chooseOrphans({ self: id, ...fleet }).length);
  };

  it('is what they were given while that is enough', () => {
    expect(makeRoom(members, 109)).to.equal(members);
    expect(claimed(109)).to.deep.equal([100, 9]);
  });

  it('is up to a tenth more when all of them are full, and never beyond that', () => {
    expect(makeRoom(members, 110).map(({ capacity }) => capacity)).to.deep.equal([110, 9]);
    expect(claimed(115)).to.deep.equal([106, 9]);
    expect(claimed(130)).to.deep.equal([110, 9]);
  });
});
