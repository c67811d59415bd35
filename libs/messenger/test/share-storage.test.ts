import asyncHooks, { AsyncLocalStorage } from 'node:async_hooks';
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

  it('leave the storages of others alone', async () => {
    const { AsyncLocalStorage: original } = asyncHooks;
    await openLinked();
    expect(asyncHooks.AsyncLocalStorage).to.equal(original);
    const [one, other] = [new AsyncLocalStorage<number>(), new AsyncLocalStorage<number>()];
    one.run(1, () => other.run(2, () => expect([one.getStore(), other.getStore()]).to.deep.equal([1, 2])));
  });
});
