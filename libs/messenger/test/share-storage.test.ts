import { expect } from 'chai';
import { useSessions } from './support/session-fixture.js';

describe('the sockets of a process', () => {
  const { openLinked } = useSessions();
  /** What every promise of the process carries for the library's sake. */
  const burden = () => Object.getOwnPropertySymbols(new Promise(() => {})).length;

  it('do not make promises heavier, however many they are', async () => {
    await openLinked();
    const before = burden();
    for (let i = 0; i < 5; i++) await openLinked();
    expect(burden()).to.equal(before);
  });
});
