import { chooseOrphans } from '@gateway/fleet/assignment';
import { Room } from '@gateway/fleet/make-room';
import { expect } from 'chai';

describe('the capacity of senders', () => {
  const members = [
    { id: 'a', held: 0, capacity: 100 },
    { id: 'b', held: 0, capacity: 9 },
  ];
  let nowMs: number;
  let told: { devices: number; places: number }[];
  let room: Room;
  beforeEach(() => {
    [nowMs, told] = [0, []];
    room = new Room({ monotonicMs: () => nowMs, onFull: (shortage) => told.push(shortage) });
  });

  const claimed = (count: number) => {
    const orphans = Array.from({ length: count }, (_, i) => `device-${i}`);
    const fleet = { members: room.make(members, count), orphans, devices: count };
    return members.map(({ id }) => chooseOrphans({ self: id, ...fleet }).length);
  };
  const claimedLater = (count: number) => {
    claimed(count);
    nowMs += 10_000;
    return claimed(count);
  };

  it('is what they were given while that is enough', () => {
    expect(claimedLater(109)).to.deep.equal([100, 9]);
    expect(told).to.deep.equal([]);
  });

  it('is up to a tenth more when all of them are full, and never beyond that', () => {
    expect(claimedLater(115)).to.deep.equal([106, 9]);
    expect(claimed(130)).to.deep.equal([110, 9]);
    expect(room.make(members, 110).map(({ capacity }) => capacity)).to.deep.equal([110, 9]);
    expect(told, 'said once').to.deep.equal([{ devices: 115, places: 109 }]);
  });

  it('is not exceeded, nor said to be full, by the first sender of many that start together', () => {
    room.make([members[1]!], 100);
    nowMs += 9_999;
    expect(room.make([members[1]!], 100)).to.deep.equal([members[1]]);
    expect(claimed(100), 'the other has come').to.deep.equal([91, 9]);
    nowMs += 9_999;
    room.make([members[1]!], 100);
    expect(told).to.deep.equal([]);
  });
});
