import { setClockAhead } from '@gateway/runtime/clock';

/**
 * Each test begins with the time of this machine: what ran in this process before it may have followed that of Redis, which is a ms or
 * two apart, and tests compare the two.
 * @public mocha loads it by its path.
 */
export const mochaHooks = { beforeEach: () => setClockAhead(0) };
