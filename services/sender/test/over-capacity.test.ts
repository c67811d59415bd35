import { assignDevices } from '@gateway/sender/fleet/assign-devices';
import { makeRoom } from '@gateway/sender/fleet/over-capacity';
import { expect } from 'chai';

describe('the capacity of senders', () => {
  const members = [
    { id: 'a', held: 0, capacity: 100 },
    { id: 'b', held: 0, capacity: 9 },
  ];
  let lines: unknown[];
  const roomFor = (devices: number) => makeRoom(devices, members, { warn: (_line, fields) => void lines.push(fields) });
  const assigned = (count: number) =>
    assignDevices(
      Array.from({ length: count }, (_, i) => `device-${i}`),
      roomFor(count),
    ).size;

  beforeEach(() => {
    lines = [];
  });

  it('is what they were given while that is enough', () => {
    expect(roomFor(109).map(({ capacity }) => capacity)).to.deep.equal([100, 9]);
    expect(lines).to.deep.equal([]);
  });

  it('is up to a tenth more when all of them are full, which is logged, and never beyond that', () => {
    expect(roomFor(110).map(({ capacity }) => capacity)).to.deep.equal([110, 9]);
    expect(lines).to.deep.equal([{ devices: 110, places: 109 }]);
    expect(assigned(115)).to.equal(115);
    expect(assigned(130)).to.equal(119);
  });
});
