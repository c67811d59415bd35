import { ReconnectBackoff } from '@gateway/sender/device/reconnect-backoff';
import { expect } from 'chai';

describe('ReconnectBackoff', () => {
  let nowMs = 0;
  const make = () => new ReconnectBackoff(() => nowMs);
  const open = (backoff: ReconnectBackoff, forMs: number) => {
    backoff.opened();
    nowMs += forMs;
  };

  it('doubles up to a minute, with jitter', () => {
    const backoff = make();
    for (const base of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
      expect(backoff.nextDelayMs()).to.be.within(base / 2, base);
    }
    for (let i = 0; i < 2_000; i++) expect(backoff.nextDelayMs(), `try ${i}`).to.be.within(30_000, 60_000);
  });

  it('does not bring a fleet back in step, also after a pause that the network asked for', () => {
    for (const atLeastMs of [0, 300_000]) {
      const delays = new Set(Array.from({ length: 20 }, () => make().nextDelayMs(atLeastMs)));
      expect(delays.size).to.be.greaterThan(10);
    }
  });

  it('waits at least as long as the network asked for, and at most half a minute longer', () => {
    for (let i = 0; i < 100; i++) expect(make().nextDelayMs(300_000)).to.be.within(300_000, 330_000);
    expect(make().nextDelayMs(-5)).to.be.within(250, 500);
  });

  it('starts again after a connection that lasted a minute, not after one that merely opened', () => {
    const backoff = make();
    for (let i = 0; i < 5; i++) backoff.nextDelayMs();
    open(backoff, 59_999);
    expect(backoff.nextDelayMs()).to.be.at.least(8_000);
    open(backoff, 60_000);
    expect(backoff.nextDelayMs()).to.be.at.most(500);
  });

  it('does not count the time without a connection as a good one', () => {
    const backoff = make();
    for (let i = 0; i < 5; i++) backoff.nextDelayMs();
    open(backoff, 10);
    backoff.nextDelayMs();
    nowMs += 600_000;
    expect(backoff.nextDelayMs()).to.be.at.least(16_000);
  });
});
