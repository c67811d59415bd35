import { normalizePhoneNumber } from '@gateway/contracts/people/normalize-phone-number';
import { expect } from 'chai';
import { parsePhoneNumberFromString } from 'libphonenumber-js/min';

/** Apart from others: a build with mutations costs more. */
describe('a number that people type', () => {
  it('costs what the library takes for one number, and a fraction of that where no 0 follows the country code', () => {
    const cpuOf = (read: (number: string) => unknown, start: string) => {
      const before = process.cpuUsage();
      for (let i = 100_000; i < 102_000; i++) read(`+${start}${i}`);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const askLibrary = (number: string) => parsePhoneNumberFromString(number, { extract: false });
    for (const [start, share] of [
      ['447700', 0.2],
      ['2250712', 2],
      ['390612', 2],
    ] as const) {
      // Side by side, and the best of several rounds: what else the machine does costs both the same, or one round.
      const rounds = Array.from({ length: 5 }, () => [cpuOf(normalizePhoneNumber, start), cpuOf(askLibrary, start)]);
      const [ours, library] = [0, 1].map((i) => Math.min(...rounds.map((costs) => costs[i]!)));
      expect(ours! / library!, start).to.be.below(share);
    }
  });
});
