import { assignDevices } from '@gateway/sender/fleet/assign-devices';
import { expect } from 'chai';

const devices = Array.from({ length: 1_000 }, (_, i) => `device-${i}`);
const senders = (count: number, capacity = 1_000) =>
  Array.from({ length: count }, (_, i) => ({ id: `sender-${i}`, capacity }));

function loads(assignment: Map<string, string>): number[] {
  const held = new Map<string, number>();
  for (const id of assignment.values()) held.set(id, (held.get(id) ?? 0) + 1);
  return [...held.values()];
}

describe('assignDevices', () => {
  for (const count of [1, 2, 3, 4, 7]) {
    it(`gives none of ${count} senders more than 1.1 times its share, and leaves no device out`, () => {
      const assignment = assignDevices(devices, senders(count));
      expect(assignment.size).to.equal(1_000);
      expect(Math.max(...loads(assignment))).to.be.at.most(Math.ceil((1_000 / count) * 1.1));
    });
  }

  it('is the same for everybody, whatever the order of the lists', () => {
    const one = assignDevices(devices, senders(4));
    const other = assignDevices([...devices].reverse(), senders(4).reverse());
    expect([...other].sort()).to.deep.equal([...one].sort());
  });

  it('moves little more than the devices of a sender that goes', () => {
    const before = assignDevices(devices, senders(4));
    const after = assignDevices(devices, senders(4).slice(1));
    const moved = devices.filter(
      (device) => before.get(device) !== 'sender-0' && before.get(device) !== after.get(device),
    );
    expect(moved.length).to.be.lessThan(150);
  });

  it('keeps to the capacity of small senders, and leaves out what fits nowhere', () => {
    const assignment = assignDevices(devices, [
      { id: 'small', capacity: 10 },
      { id: 'large', capacity: 500 },
    ]);
    expect(loads(assignment).sort((a, b) => a - b)).to.deep.equal([10, 500]);
    expect(assignDevices(devices, [])).to.have.property('size', 0);
  });
});
