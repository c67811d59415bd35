import { type ObservedState, restBeforeLoginMs } from '@gateway/contracts/devices/device-state';
import { expect } from 'chai';

const NOW_MS = 1_000_000_000;
const HOUR_MS = 3_600_000;

describe('the pause before the next login', () => {
  const desired = { want: 'linked', attemptId: 'one' } as const;
  const restOf = (observed: Partial<ObservedState>) =>
    restBeforeLoginMs(desired, { status: 'connecting', attemptId: 'one', sinceMs: NOW_MS, ...observed }, NOW_MS);

  it('lasts until it is over, for the request that it was made for', () => {
    expect(restOf({ notBeforeMs: NOW_MS + 500 })).to.equal(500);
    expect(restOf({ notBeforeMs: NOW_MS - 500 })).to.equal(0);
    expect(restOf({})).to.equal(0);
    expect(restOf({ notBeforeMs: NOW_MS + 500, attemptId: 'another' })).to.equal(0);
    expect(restOf({ notBeforeMs: NOW_MS + 500, status: 'connected' })).to.equal(0);
  });

  it('is over where it was begun while the clock was ahead, unless the network has asked for it', () => {
    const ahead = { sinceMs: NOW_MS + HOUR_MS, notBeforeMs: NOW_MS + HOUR_MS + 500 };
    expect(restOf({ ...ahead, reason: 'network' })).to.equal(0);
    expect(restOf({ ...ahead, reason: 'rate_limited' })).to.equal(HOUR_MS + 500);
    expect(restOf({ sinceMs: NOW_MS + 1_000, notBeforeMs: NOW_MS + 1_500, reason: 'network' })).to.equal(1_500);
  });
});
