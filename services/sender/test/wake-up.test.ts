import { WakeUp } from '@gateway/sender/scheduling/wake-up';
import { expect } from 'chai';

const LONG_MS = 60_000;

describe('WakeUp', () => {
  it('ends a wait at once when it is rung', async () => {
    const wakeUp = new WakeUp();
    const before = performance.now();
    const waiting = wakeUp.wait(LONG_MS);
    wakeUp.ring();
    await waiting;
    expect(performance.now() - before).to.be.below(LONG_MS);
  });

  it('remembers, once, a ring that came without a waiter', async () => {
    const wakeUp = new WakeUp();
    wakeUp.ring();
    wakeUp.ring();
    await wakeUp.wait(LONG_MS);
    const before = performance.now();
    await wakeUp.wait(30);
    expect(performance.now() - before).to.be.at.least(25);
  });

  it('lets a wait that has begun be shortened, and not be made longer', async () => {
    const wakeUp = new WakeUp();
    const before = performance.now();
    const waiting = wakeUp.wait(LONG_MS);
    wakeUp.wakeWithin(30);
    wakeUp.wakeWithin(LONG_MS / 2);
    await waiting;
    expect(performance.now() - before).to.be.within(25, LONG_MS / 2);
  });

  it('lets each of two wait for its own time', async () => {
    const wakeUp = new WakeUp();
    const before = performance.now();
    const short = wakeUp.wait(30);
    const long = wakeUp.wait(LONG_MS);
    await short;
    expect(performance.now() - before).to.be.within(25, LONG_MS / 2);
    wakeUp.ring();
    await long;
    expect(performance.now() - before).to.be.below(LONG_MS);
  });

  it('does not take the ring that ended a wait for another one', async () => {
    const wakeUp = new WakeUp();
    const first = wakeUp.wait(LONG_MS);
    wakeUp.ring();
    await first;
    const before = performance.now();
    await wakeUp.wait(30);
    expect(performance.now() - before).to.be.at.least(25);
  });
});
